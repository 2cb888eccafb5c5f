//! The tree as serde sees it: a value is read as what is asked for.

use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::{Node, Value};

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.value {
            Value::Scalar(scalar) => visitor.visit_borrowed_str(&scalar.text),
            Value::List(list) => visitor.visit_seq(SeqDeserializer::new(list.iter())),
            Value::Map(map) => {
                let entries = map.iter().map(|(key, node)| (key.text.as_str(), node));
                visitor.visit_map(MapDeserializer::new(entries))
            }
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.scalar().and_then(super::Scalar::bool) {
            Some(value) => visitor.visit_bool(value),
            None => Err(Error::custom("neither true nor false")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.is_null() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.scalar() {
            Some(scalar) => visitor.visit_enum(scalar.text.as_str().into_deserializer()),
            None => Err(Error::custom("not a word")),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
