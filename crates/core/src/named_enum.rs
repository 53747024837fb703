//! Enums whose variants have names.

/// Defines an enum with a name for each variant: `ALL` has the variants in order, and `name` is
/// that of one.
///
/// ```
/// # use forebay_core::named_enum;
/// named_enum! {
///     /// A side of the gate.
///     #[derive(Clone, Copy)]
///     pub enum Side {
///         /// The one whose packets are shaped.
///         Inside = "inside",
///         /// The other.
///         Outside = "outside",
///     }
/// }
/// assert_eq!(Side::ALL.map(Side::name), ["inside", "outside"]);
/// ```
#[macro_export]
macro_rules! named_enum {
    ($(#[$meta:meta])* $visible:vis enum $type:ident {
        $($(#[$about:meta])* $variant:ident = $name:literal,)+
    }) => {
        $(#[$meta])*
        $visible enum $type {
            $($(#[$about])* $variant,)+
        }

        impl $type {
            /// Every variant, in order.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// The name of this one.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)+
                }
            }
        }
    };
}
