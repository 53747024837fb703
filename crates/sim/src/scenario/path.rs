//! Fields of a document by their paths: `link[0].queue.target`, `traffic.voice.flows`.

use forebay_core::ConfigError;
use serde_json::{Value, json};

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(usize),
}

/// Sets the value at `path` of `tree` to `value`. An entry of a list whose entries have names may
/// be addressed by its name; a name that contains a dot is in quotes. Missing tables on the way are
/// created. Returns the field's JSON pointer (RFC 6901).
///
/// # Errors
/// It is not a path, or cannot be followed.
pub fn set(tree: &mut Value, path: &str, value: Value) -> Result<String, ConfigError> {
    let steps = steps(path)?;
    let mut pointer = String::new();
    let mut at = tree;
    for (place, step) in steps.iter().enumerate() {
        let step = in_list(at, step).map_err(|message| ConfigError::new(path, message))?;
        pointer.push('/');
        at = match (at, step) {
            (Value::Object(table), Step::Name(name)) => {
                pointer += &name.replace('~', "~0").replace('/', "~1");
                if !table.contains_key(&name)
                    && matches!(steps.get(place + 1), Some(Step::Index(_)))
                {
                    let message = format!("there is no list \"{name}\"");
                    return Err(ConfigError::new(path, message));
                }
                table.entry(name).or_insert_with(|| json!({}))
            }
            (at, Step::Index(index)) => {
                pointer += &index.to_string();
                &mut at[index]
            }
            (_, Step::Name(_)) => unreachable!("a name leads into a table"),
        };
    }
    *at = value;
    Ok(pointer)
}

/// The value at `path` of `tree`. None if there is none.
///
/// # Errors
/// It is not a path.
pub fn get<'a>(tree: &'a Value, path: &str) -> Result<Option<&'a Value>, ConfigError> {
    let step = |at: &'a Value, step: &Step| match in_list(at, step).ok()? {
        Step::Name(name) => at.get(name),
        Step::Index(index) => at.get(index),
    };
    Ok(steps(path)?.iter().try_fold(tree, step))
}

/// The step from `at`, with a name in a list replaced by its index.
fn in_list(at: &Value, step: &Step) -> Result<Step, String> {
    match (at, step) {
        (Value::Object(_), Step::Name(_)) => Ok(step.clone()),
        (Value::Array(list), Step::Index(index)) if *index < list.len() => Ok(step.clone()),
        (Value::Array(list), Step::Index(index)) => Err(format!(
            "there is no entry [{index}]: the list has {} entries, counted from 0",
            list.len()
        )),
        (Value::Array(list), Step::Name(name)) => {
            let place = list.iter().position(|entry| entry["name"].as_str() == Some(name));
            place.map(Step::Index).ok_or_else(|| {
                let names = list.iter().filter_map(|entry| entry["name"].as_str());
                let known: Vec<_> = names.map(|name| format!("\"{name}\"")).collect();
                let known =
                    if known.is_empty() { "without names".to_owned() } else { known.join(", ") };
                format!("no entry is called \"{name}\"; the entries are {known}")
            })
        }
        (at, step) => {
            let found = match at {
                Value::Object(_) => "a table".to_owned(),
                value => format!("{value}, which is a value"),
            };
            let shown = match step {
                Step::Index(index) => format!("[{index}]"),
                Step::Name(name) => format!("\"{name}\""),
            };
            Err(format!("there is no {shown}: the path ends at {found}"))
        }
    }
}

fn steps(path: &str) -> Result<Vec<Step>, ConfigError> {
    let wrong = || {
        let message = "not a path; expected one such as link[0].queue.target";
        ConfigError::new("", format!("\"{path}\": {message}"))
    };
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if !steps.is_empty() {
            rest = rest.strip_prefix('.').unwrap_or(rest);
        }
        if let Some(quoted) = rest.strip_prefix('"') {
            let (name, after) = quoted.split_once('"').ok_or_else(wrong)?;
            steps.push(Step::Name(name.into()));
            rest = after;
        } else if let Some(bracketed) = rest.strip_prefix('[') {
            let (index, after) = bracketed.split_once(']').ok_or_else(wrong)?;
            let is_number = index.bytes().all(|byte| byte.is_ascii_digit());
            let index = index.parse().ok().filter(|_| is_number).ok_or_else(wrong)?;
            steps.push(Step::Index(index));
            rest = after;
        } else {
            let end = rest.find(['.', '[', ']', '"']).unwrap_or(rest.len());
            if end == 0 {
                return Err(wrong());
            }
            steps.push(Step::Name(rest[..end].into()));
            rest = &rest[end..];
        }
    }
    match steps.first() {
        Some(Step::Name(_)) => Ok(steps),
        _ => {
            let message = "a path starts with a name, such as link[0].rate";
            Err(ConfigError::new("", format!("\"{path}\": {message}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_set_by_number_and_name_and_tables_are_made() {
        let mut tree = json!({
            "link": [{ "name": "a" }, { "name": "b.c", "rate": "1Mbit" }],
            "dumbbell": { "queue": { "kind": "codel" } },
        });
        for (path, value) in [
            ("link[0].queue.target", json!("5ms")),
            ("link.a.queue.ecn", json!(true)),
            ("link.\"b.c\".rate", json!("2Mbit")),
            ("dumbbell.queue", json!({ "kind": "pie" })),
        ] {
            let pointer = set(&mut tree, path, value.clone()).unwrap();
            assert_eq!(tree.pointer(&pointer), Some(&value), "{path}");
            assert_eq!(get(&tree, path).unwrap(), Some(&value), "{path}");
        }
        let expected = json!({
            "link": [
                { "name": "a", "queue": { "target": "5ms", "ecn": true } },
                { "name": "b.c", "rate": "2Mbit" },
            ],
            "dumbbell": { "queue": { "kind": "pie" } },
        });
        assert_eq!(tree, expected);
    }

    #[test]
    fn a_path_that_leads_nowhere_says_where() {
        let mut tree = json!({ "link": [{ "name": "a", "rate": "1Mbit" }] });
        for (path, said) in [
            ("", "starts with a name"),
            ("[0].rate", "starts with a name"),
            ("a..b", "not a path"),
            ("link[x]", "not a path"),
            ("link[+1]", "not a path"),
            ("link[3].rate", "link[3].rate: there is no entry [3]: the list has 1 entries"),
            ("link.b.rate", "no entry is called \"b\"; the entries are \"a\""),
            ("node[0].x", "there is no list \"node\""),
            ("link[0].rate.x", "there is no \"x\": the path ends at \"1Mbit\", which"),
        ] {
            let error = set(&mut tree, path, json!(1)).unwrap_err().to_string();
            assert!(error.contains(said), "{path}: {error}");
            match get(&tree, path) {
                Ok(found) => assert_eq!(found, None, "{path}"),
                Err(refused) => assert_eq!(refused.to_string(), error),
            }
        }
    }
}
