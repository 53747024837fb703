//! A parameter that is one value for all, or a list with one for each.

use forebay_core::ConfigError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{I64Deserializer, SeqAccessDeserializer, StrDeserializer, U64Deserializer};
use serde::de::{Deserialize, Deserializer, IntoDeserializer, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use std::{borrow::Cow, fmt, marker::PhantomData};

/// One value for all, or a list with one for each; written `"30p"` or `["30p", "10p"]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OneOrEach<T> {
    /// One value for all.
    One(T),
    /// A value for each, in order.
    Each(Vec<T>),
}

impl<T: Copy> OneOrEach<T> {
    /// The list of `count` values.
    ///
    /// # Errors
    /// The list has another length. The error names `path`; `what` says what is counted ("queues").
    pub fn expand(&self, count: usize, path: &str, what: &str) -> Result<Vec<T>, ConfigError> {
        match self {
            OneOrEach::One(value) => Ok(vec![*value; count]),
            OneOrEach::Each(values) if values.len() == count => Ok(values.clone()),
            OneOrEach::Each(values) => Err(ConfigError::new(
                path,
                format!(
                    "must be one value, or one for each of the {count} {what}; got {} values",
                    values.len()
                ),
            )),
        }
    }
}

impl<T: Serialize> Serialize for OneOrEach<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            OneOrEach::One(value) => value.serialize(serializer),
            OneOrEach::Each(values) => values.serialize(serializer),
        }
    }
}

/// Written by hand, because an untagged enum would hide the error messages of the value.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrEach<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrEachVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrEachVisitor<T> {
            type Value = OneOrEach<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("one value or a list of values")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                let one: StrDeserializer<E> = text.into_deserializer();
                T::deserialize(one).map(OneOrEach::One)
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
                let one: U64Deserializer<E> = value.into_deserializer();
                T::deserialize(one).map(OneOrEach::One)
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
                let one: I64Deserializer<E> = value.into_deserializer();
                T::deserialize(one).map(OneOrEach::One)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrEach::Each)
            }
        }
        deserializer.deserialize_any(OneOrEachVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrEach<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("OneOrEach_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::{Limit, config};
    use serde_json::json;

    #[test]
    fn reads_one_or_a_list_and_explains_a_wrong_one() {
        let one: OneOrEach<Limit> = config::read(&json!("30p")).unwrap();
        assert_eq!(one.expand(2, "limit", "queues").unwrap(), vec![Limit::Packets(30); 2]);
        let each: OneOrEach<Limit> = config::read(&json!(["30p", "45KB"])).unwrap();
        let list = vec![Limit::Packets(30), Limit::Bytes(45_000)];
        assert_eq!(each.expand(2, "limit", "queues").unwrap(), list);
        assert_eq!(serde_json::to_value(&each).unwrap(), json!(["30p", "45KB"]));
        let error = each.expand(3, "limit", "queues").unwrap_err();
        assert_eq!((error.path.as_str(), error.message.contains("3 queues")), ("limit", true));
        for wrong in [json!("30"), json!(["30p", "30"])] {
            let error = config::read::<OneOrEach<Limit>>(&wrong).unwrap_err();
            assert!(error.message.contains("30p"), "{error}");
        }
    }
}
