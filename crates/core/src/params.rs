//! Parameters, and how those of a kind are composed of those of its parts.

use crate::{ConfigError, config};
use schemars::{JsonSchema, Schema, json_schema};
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor, value};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};
use serde_json::{Map, Value};

/// Parameters as a configuration writes them: a table. Structs that serde reads are parameters, such
/// as those that [`params!`](crate::params!) defines, and so are those of [`compose!`](crate::compose).
pub trait Params: Serialize + JsonSchema + Sized {
    /// Names of the fields, in order.
    fn fields() -> Vec<&'static str>;

    /// Reads `block`.
    ///
    /// # Errors
    /// An unknown field or a value of the wrong form, with its path.
    fn read(block: &Value) -> Result<Self, ConfigError>;
}

impl<T: Serialize + DeserializeOwned + JsonSchema> Params for T {
    fn fields() -> Vec<&'static str> {
        let mut fields: &[_] = &[];
        // It asks for its fields first and then fails.
        let _ = T::deserialize(FieldNames(&mut fields));
        fields.to_vec()
    }

    fn read(block: &Value) -> Result<Self, ConfigError> {
        config::read(block)
    }
}

/// The parameters of a part that has none.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// Defines parameters: each field with its default, which a configuration may leave out. Unknown
/// fields are refused. Other crates begin with the defaults and set fields, so one more field does not
/// break them. The calling crate needs `serde` and `schemars`.
///
/// ```
/// # use forebay_core::{Duration, params};
/// params! {
///     /// Parameters of a law.
///     #[derive(Copy)]
///     pub struct LawParams {
///         /// Acceptable delay.
///         pub target: Duration = Duration::from_millis(5),
///     }
/// }
/// assert_eq!(LawParams::default().target, Duration::from_millis(5));
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $visible:vis struct $name:ident {
        $($(#[$about:meta])* $open:vis $field:ident: $type:ty = $default:expr,)+
    }) => {
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        $(#[$meta])*
        #[non_exhaustive]
        $visible struct $name {
            $($(#[$about])* $open $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)+ }
            }
        }
    };
}

/// Records the names of the fields for which a struct asks.
struct FieldNames<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, value::Error> {
        Err(value::Error::custom("there is no data"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, value::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Defines parameters that are composed of those of parts: a configuration writes the fields of all
/// parts in one table. Each part has its defaults in this whole, and may have fields that the whole
/// fixes: a configuration cannot set them. Where a part's description of a field is vague, the whole
/// has its own. (serde's `flatten` would neither refuse unknown fields nor tell the path of a wrong
/// value.)
///
/// ```
/// # use forebay_core::{Bytes, Params, compose};
/// # use schemars::JsonSchema;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
/// # struct HashParams { queues: u32 }
/// # #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
/// # struct RoundParams { quantum: Bytes, resolution: u32 }
/// compose! {
///     /// Parameters of a fair queue.
///     pub struct FairQueueParams {
///         hash: HashParams = HashParams { queues: 1024 } => described {
///             "queues": "Number of queues, each with one flow or more.",
///         },
///         round: RoundParams = RoundParams::default() => fixed ["resolution"],
///     }
/// }
/// assert_eq!(FairQueueParams::fields(), ["queues", "quantum"]);
/// ```
#[macro_export]
macro_rules! compose {
    ($(#[doc = $about:literal])+ pub struct $name:ident {
        $(
            $part:ident: $type:ty = $default:expr
            $(=> fixed [$($fixed:literal),+])?
            $(=> described { $($field:literal: $description:literal,)+ })?,
        )+
    }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub struct $name {
            $(
                #[doc = concat!("Fields of the part `", stringify!($part), "`.")]
                pub $part: $type,
            )+
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($part: $default,)+ }
            }
        }

        impl $crate::Params for $name {
            fn fields() -> Vec<&'static str> {
                [$($crate::params::open::<$type>(&[$($($fixed),+)?]),)+].concat()
            }

            fn read(block: &serde_json::Value) -> Result<Self, $crate::ConfigError> {
                let fields = $crate::params::known(block, &Self::fields())?;
                let defaults = Self::default();
                Ok($name {
                    $($part: $crate::params::part(&defaults.$part, &[$($($fixed),+)?], fields)?,)+
                })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let parts = [$($crate::params::table(&self.$part, &[$($($fixed),+)?]),)+];
                serializer.collect_map(parts.into_iter().flatten())
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let parts = vec![$((
                    <$type>::json_schema(generator),
                    $crate::params::open::<$type>(&[$($($fixed),+)?]),
                ),)+];
                let described = [$($($(($field, $description),)+)?)+];
                let fields = <Self as $crate::Params>::fields();
                let defaults = $crate::params::table(&Self::default(), &[]);
                let about = [$($about),+].concat();
                $crate::params::schema(about.trim(), parts, &described, &fields, &defaults)
            }
        }
    };
}

// There are many types of parameters, and what is generic is compiled for each of them: little is.

/// Names of the fields of `P` that are not `fixed`.
#[doc(hidden)]
pub fn open<P: Params>(fixed: &[&str]) -> Vec<&'static str> {
    let mut fields = P::fields();
    keep_open(&mut fields, fixed);
    fields
}

fn keep_open(fields: &mut Vec<&'static str>, fixed: &[&str]) {
    fields.retain(|name| !fixed.contains(name));
}

/// The fields in `block`, all of which are `known`.
///
/// # Errors
/// `block` is not a table, or has an unknown field.
#[doc(hidden)]
pub fn known<'a>(block: &'a Value, known: &[&str]) -> Result<&'a Map<String, Value>, ConfigError> {
    let Value::Object(given) = block else {
        return Err(ConfigError::new("", format!("must be a table, got {block}")));
    };
    match given.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(ConfigError::new(name, config::unknown("field", name, known))),
        None => Ok(given),
    }
}

/// The part whose fields are those `given` that belong to it, and otherwise those of `default`.
///
/// # Errors
/// A value of the wrong form, with its path.
#[doc(hidden)]
pub fn part<P: Params>(
    default: &P,
    fixed: &[&str],
    given: &Map<String, Value>,
) -> Result<P, ConfigError> {
    P::read(&merged(table(default, &[]), &open::<P>(fixed), given))
}

/// The fields of a part that are not `fixed`, with their values.
#[doc(hidden)]
pub fn table<P: Serialize>(part: &P, fixed: &[&str]) -> Map<String, Value> {
    without(serde_json::to_value(part), fixed)
}

/// `own`, where the `open` fields are as in `given`.
fn merged(mut own: Map<String, Value>, open: &[&str], given: &Map<String, Value>) -> Value {
    for &name in open {
        if let Some(value) = given.get(name) {
            own.insert(name.to_owned(), value.clone());
        }
    }
    Value::Object(own)
}

/// The fields of `written` that are not `fixed`.
fn without(written: serde_json::Result<Value>, fixed: &[&str]) -> Map<String, Value> {
    match written {
        Ok(Value::Object(mut fields)) => {
            fields.retain(|name, _| !fixed.contains(&name.as_str()));
            fields
        }
        _ => unreachable!("parameters are a table of plain data"),
    }
}

/// The schema of the `fields` with these `defaults`, described by `about` and composed of those fields
/// of the `parts` that are not fixed. The fields `described` have descriptions of their own.
#[doc(hidden)]
pub fn schema(
    about: &str,
    parts: Vec<(Schema, Vec<&str>)>,
    described: &[(&str, &str)],
    fields: &[&str],
    defaults: &Map<String, Value>,
) -> Schema {
    let mut known = Map::new();
    for (mut part, open) in parts {
        if let Some(Value::Object(mut fields)) = part.remove("properties") {
            fields.retain(|name, _| open.contains(&name.as_str()));
            known.extend(fields);
        }
    }
    for (name, description) in described {
        known[*name]["description"] = (*description).into();
    }
    let mut properties = Map::new();
    for &name in fields {
        let mut field = known.remove(name).unwrap_or_default();
        if let (Value::Object(field), Some(default)) = (&mut field, defaults.get(name)) {
            field.insert("default".into(), default.clone());
        }
        properties.insert(name.into(), field);
    }
    json_schema!({
        "description": about,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    crate::params! {
        pub struct LawParams {
            /// Room.
            limit: u32 = 1000,
            /// Target.
            target: u8 = 5,
        }
    }

    #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct HashParams {
        /// Queues.
        queues: Option<u32>,
        /// Room in all queues.
        limit: Option<u32>,
    }

    crate::compose! {
        /// A law for
        /// each flow.
        pub struct FlowLawParams {
            hash: HashParams = HashParams::default() => described {
                "queues": "Queues, each with a law.",
            },
            law: LawParams = LawParams { limit: 7, target: 9 } => fixed ["limit"],
        }
    }

    #[test]
    fn parts_share_one_table_and_fixed_fields_are_unknown() {
        let read = |block| FlowLawParams::read(&block);
        let params = read(json!({ "target": 3 })).unwrap();
        assert_eq!((params.hash.limit, params.law.limit, params.law.target), (None, 7, 3));
        let written = serde_json::to_value(&params).unwrap();
        assert_eq!(written, json!({ "queues": null, "limit": null, "target": 3 }));
        let refused = |block| read(block).unwrap_err().to_string();
        assert_eq!(
            refused(json!({ "room": 1 })),
            "room: unknown field \"room\"; one of queues, limit, target"
        );
        assert_eq!(
            refused(json!({ "target": [] })),
            "target: must be a whole number from 0 to 255, got a list"
        );
        assert_eq!(refused(json!([])), "must be a table, got []");
    }

    #[test]
    fn the_schema_has_the_fields_of_all_parts_with_the_defaults_of_the_whole() {
        let schema = FlowLawParams::json_schema(&mut schemars::SchemaGenerator::default());
        assert_eq!(schema.get("description"), Some(&json!("A law for each flow.")));
        let fields = schema.get("properties").and_then(Value::as_object).unwrap();
        assert_eq!(fields.keys().collect::<Vec<_>>(), ["queues", "limit", "target"]);
        assert_eq!(fields["limit"]["description"], "Room in all queues.");
        assert_eq!(fields["queues"]["description"], "Queues, each with a law.");
        assert_eq!(
            (&fields["target"]["default"], &fields["target"]["description"]),
            (&json!(9), &json!("Target."))
        );
        assert_eq!(schema.get("additionalProperties"), Some(&json!(false)));
    }
}
