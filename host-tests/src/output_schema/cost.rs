//! How much work it is to hold an answer against a schema. Both are a server's: a few lines of schema that refer
//! to each other can ask for more steps than there is time, and a validator cannot be stopped.

use serde_json::{Map, Value};

/// The most patterns in a schema: compiling each takes its time.
const MOST_PATTERNS: usize = 64;

/// The most steps that an answer may take. A step is a schema held against a value, or a thing compared.
const MOST_STEPS: u64 = 500_000;

/// How deep schemas and values may lie in each other.
const DEEPEST: usize = 200;

/// Schemas for the same value.
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SINGLE: [&str; 4] = ["not", "if", "then", "else"];
const DEPENDENT: [&str; 2] = ["dependentSchemas", "dependencies"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Schemas for each of a value's members or elements.
const MEMBERS: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];
const ELEMENTS: [&str; 5] = ["items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"];

/// Why something is not checked.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum TooMuch {
    #[error("it has more than {MOST_PATTERNS} patterns")]
    Patterns,
    #[error("it refers to {0:?}, which is no place in it")]
    Elsewhere(String),
    #[error("it has parts with names of their own, by {0:?}")]
    Named(&'static str),
    #[error("it would take more than {MOST_STEPS} steps")]
    Steps,
    #[error("it lies more than {DEEPEST} deep")]
    Deep,
}

/// Whether a schema may be used: it refers to nothing but its own parts, by where they are.
pub(super) fn of_schema(schema: &Value) -> Result<(), TooMuch> {
    let mut patterns = 0;
    let mut parts = vec![(schema, true)];
    while let Some((part, is_root)) = parts.pop() {
        let Value::Object(members) = part else {
            parts.extend(part.as_array().into_iter().flatten().map(|part| (part, false)));
            continue;
        };
        patterns += usize::from(members.get("pattern").is_some_and(Value::is_string));
        patterns += members.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
        if patterns > MOST_PATTERNS {
            return Err(TooMuch::Patterns);
        }
        // With one of these, a reference would not begin at the root.
        if let Some(name) =
            ["$id", "id"].into_iter().find(|name| members.get(*name).is_some_and(Value::is_string))
            && !is_root
        {
            return Err(TooMuch::Named(name));
        }
        for reference in REFERENCES.iter().filter_map(|name| members.get(*name)?.as_str()) {
            place(schema, reference).ok_or_else(|| TooMuch::Elsewhere(reference.to_owned()))?;
        }
        parts.extend(members.values().map(|part| (part, false)));
    }
    Ok(())
}

/// The part of a schema that a reference means.
fn place<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    // `%` would have to be decoded first.
    if pointer.contains('%') { None } else { root.pointer(pointer) }
}

/// Whether an answer may be held against a schema: no order of its keywords takes more steps than are allowed.
pub(super) fn of_answer(schema: &Value, answer: &Value) -> Result<(), TooMuch> {
    let mut walk = Walk { root: schema, left: MOST_STEPS };
    walk.visit(schema, answer, 0)
}

struct Walk<'a> {
    root: &'a Value,
    left: u64,
}

impl Walk<'_> {
    fn spend(&mut self, steps: u64) -> Result<(), TooMuch> {
        self.left = self.left.checked_sub(steps).ok_or(TooMuch::Steps)?;
        Ok(())
    }

    /// Spends what `value` weighs.
    fn weigh(&mut self, value: &Value) -> Result<(), TooMuch> {
        self.spend(1)?;
        match value {
            Value::String(text) => self.spend(length(text.len()) / 64),
            Value::Array(elements) => elements.iter().try_for_each(|element| self.weigh(element)),
            Value::Object(members) => members.values().try_for_each(|member| self.weigh(member)),
            _ => Ok(()),
        }
    }

    fn visit(&mut self, schema: &Value, value: &Value, depth: usize) -> Result<(), TooMuch> {
        let Value::Object(schema) = schema else { return self.spend(1) };
        if depth > DEEPEST {
            return Err(TooMuch::Deep);
        }
        self.spend(1 + length(schema.len()))?;
        self.compare(schema, value)?;
        let before = self.left;
        self.same(schema, value, depth + 1)?;
        // Whoever asks what is left over asks all of these again, for each member or element.
        let size = value.as_object().map(Map::len).or(value.as_array().map(Vec::len)).unwrap_or_default();
        if schema.keys().any(|keyword| keyword.starts_with("unevaluated")) {
            self.spend((before - self.left).saturating_mul(1 + length(size)))?;
        }
        match value {
            Value::Object(members) => self.members(schema, members, depth + 1),
            Value::Array(elements) => self.elements(schema, elements, depth + 1),
            _ => Ok(()),
        }
    }

    /// The keywords that look at the value itself.
    fn compare(&mut self, schema: &Map<String, Value>, value: &Value) -> Result<(), TooMuch> {
        for keyword in ["enum", "const", "required", "dependentRequired"] {
            schema.get(keyword).map_or(Ok(()), |compared| self.weigh(compared))?;
        }
        if schema.contains_key("uniqueItems") {
            self.weigh(value)?;
        }
        match value {
            Value::String(text) => self.spend(length(text.len()) / 64),
            _ => Ok(()),
        }?;
        match (schema.get("pattern"), value) {
            (Some(_), Value::String(text)) => self.spend(length(text.len())),
            _ => Ok(()),
        }
    }

    /// The keywords that hold other schemas against the same value.
    fn same(&mut self, schema: &Map<String, Value>, value: &Value, depth: usize) -> Result<(), TooMuch> {
        let root = self.root;
        let lists = LISTS.iter().filter_map(|name| schema.get(*name)?.as_array()).flatten();
        let single = SINGLE.iter().filter_map(|name| schema.get(*name));
        let dependent = DEPENDENT.iter().filter_map(|name| schema.get(*name)?.as_object());
        let dependent = dependent.flat_map(Map::values);
        let references = REFERENCES.iter().filter_map(|name| place(root, schema.get(*name)?.as_str()?));
        for other in lists.chain(single).chain(dependent).chain(references) {
            self.visit(other, value, depth)?;
        }
        Ok(())
    }

    fn members(
        &mut self,
        schema: &Map<String, Value>,
        members: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), TooMuch> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        for (name, value) in members {
            let own = properties.and_then(|properties| properties.get(name));
            let others = MEMBERS.iter().filter_map(|keyword| schema.get(*keyword));
            for other in own.into_iter().chain(others) {
                self.visit(other, value, depth)?;
            }
            for other in patterns.into_iter().flat_map(Map::values) {
                self.spend(length(name.len()))?;
                self.visit(other, value, depth)?;
            }
            if let Some(names) = schema.get("propertyNames") {
                self.visit(names, &Value::String(name.clone()), depth)?;
            }
        }
        Ok(())
    }

    fn elements(
        &mut self,
        schema: &Map<String, Value>,
        elements: &[Value],
        depth: usize,
    ) -> Result<(), TooMuch> {
        for (index, value) in elements.iter().enumerate() {
            for other in ELEMENTS.iter().filter_map(|keyword| schema.get(*keyword)) {
                // Some of them have a schema for each element, some one for all.
                match other {
                    Value::Array(each) => {
                        each.get(index).map_or(Ok(()), |other| self.visit(other, value, depth))
                    }
                    all => self.visit(all, value, depth),
                }?;
            }
        }
        Ok(())
    }
}

fn length(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
