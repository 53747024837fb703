//! Methods that only pass a call on.

/// Defines methods of a trait that call the method of the same name on `$inner`, with the same
/// arguments.
///
/// ```
/// # use forebay_core::forward;
/// trait Count {
///     fn count(&self) -> u32;
///     fn add(&mut self, more: u32);
/// }
///
/// struct Loud<T>(T);
///
/// impl<T: Count> Count for Loud<T> {
///     forward! { self.0;
///         fn count(&self) -> u32;
///     }
///
///     fn add(&mut self, more: u32) {
///         println!("{more} more");
///         self.0.add(more);
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward {
    ($inner:expr; $(
        fn $name:ident(&$($receiver:ident)+ $(, $argument:ident: $type:ty)*) $(-> $answer:ty)?;
    )+) => {$(
        #[inline]
        fn $name(&$($receiver)+ $(, $argument: $type)*) $(-> $answer)? {
            $inner.$name($($argument),*)
        }
    )+};
}
