//! `ShapedDevices.csv`: a line for each device, with the plan of its circuit.

use crate::circuit::{Both, Circuit, MOST, NO_RATE, mbps};
use crate::network::Network;
use forebay_core::{ConfigError, Rate};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::collections::HashMap;
use std::net::IpAddr;
use std::str::FromStr;

/// The columns, with the names by which LibreQoS knows them, in small letters and digits alone.
const COLUMNS: [(&str, &[&str]); 10] = [
    ("Circuit ID", &["circuitid"]),
    ("Circuit Name", &["circuitname"]),
    ("Parent Node", &["parentnode"]),
    ("IPv4", &["ipv4"]),
    ("IPv6", &["ipv6"]),
    ("Download Min Mbps", &["downloadminmbps", "downloadmin"]),
    ("Upload Min Mbps", &["uploadminmbps", "uploadmin"]),
    ("Download Max Mbps", &["downloadmaxmbps", "downloadmax"]),
    ("Upload Max Mbps", &["uploadmaxmbps", "uploadmax"]),
    ("sqm", &["sqm"]),
];
/// Those that a file must have.
const NEEDED: [&str; 4] = ["Circuit ID", "Parent Node", "Download Max Mbps", "Upload Max Mbps"];
/// What the column `sqm` may say, and the kind of queue that it is here.
const SQM: [(&str, &str); 3] = [("cake", "cake"), ("fq_codel", "fq-codel"), ("none", "fifo")];

/// A line, by column.
struct Row<'a> {
    record: &'a csv::StringRecord,
    places: &'a HashMap<&'static str, usize>,
    file: &'a str,
    line: u64,
}

impl Row<'_> {
    fn get(&self, column: &str) -> &str {
        self.places.get(column).and_then(|place| self.record.get(*place)).unwrap_or_default()
    }

    fn fault(&self, column: &str, message: impl Into<String>) -> ConfigError {
        ConfigError::new(format!("{}: line {}: {column}", self.file, self.line), message)
    }

    fn rate(&self, column: &str) -> Result<Option<Rate>, ConfigError> {
        match self.get(column) {
            "" => Ok(None),
            text => {
                let rate = text.parse().map_err(|_| NO_RATE).and_then(mbps);
                let fault = |wanted| format!("expected {wanted}, got \"{text}\"");
                rate.map(Some).map_err(|wanted| self.fault(column, fault(wanted)))
            }
        }
    }

    fn rates(&self, down: &str, up: &str) -> Result<Both<Option<Rate>>, ConfigError> {
        Ok(Both { down: self.rate(down)?, up: self.rate(up)? })
    }

    /// "cake", "cake/fq_codel", "/none" or nothing.
    fn queue(&self) -> Result<Both<Option<&'static str>>, ConfigError> {
        let text = self.get("sqm").to_lowercase();
        let (down, up) = text.split_once('/').unwrap_or((&text, &text));
        let kind = |name: &str| match name.trim() {
            "" => Ok(None),
            name => {
                SQM.iter().find(|(known, _)| *known == name).map(|(_, kind)| Some(*kind)).ok_or(())
            }
        };
        let wrong = |()| {
            let got = self.get("sqm");
            self.fault(
                "sqm",
                format!("expected cake, fq_codel, none or two with \"/\", got \"{got}\""),
            )
        };
        Ok(Both { down: kind(down).map_err(wrong)?, up: kind(up).map_err(wrong)? })
    }

    /// Checks that this line, a further one of the circuit `first`, says nothing else of it in `again`.
    /// An empty field says nothing.
    fn repeats(&self, first: &Circuit, again: &Circuit) -> Result<(), ConfigError> {
        let differences = [
            ("parent", "Parent Node", first.parent_name != again.parent_name),
            ("plan", "Download Min Mbps", first.least.down != again.least.down),
            ("plan", "Upload Min Mbps", first.least.up != again.least.up),
            ("plan", "Download Max Mbps", first.most.down != again.most.down),
            ("plan", "Upload Max Mbps", first.most.up != again.most.up),
            ("sqm", "sqm", first.queue != again.queue),
        ];
        let differs =
            |(_, column, differs): &(_, &str, bool)| *differs && !self.get(column).is_empty();
        let Some((what, column, _)) = differences.into_iter().find(differs) else { return Ok(()) };
        Err(self.fault(
            column,
            format!(
                "circuit {} has another {what} than in line {}; write the same in all its lines, or \
                 leave the further ones empty",
                first.id, first.line
            ),
        ))
    }

    fn addresses(&self, found: &mut Vec<IpNet>) -> Result<(), ConfigError> {
        found.extend(
            self.listed::<Ipv4Net, std::net::Ipv4Addr>("IPv4", "100.64.0.1 or 100.64.0.0/29")?,
        );
        found.extend(
            self.listed::<Ipv6Net, std::net::Ipv6Addr>("IPv6", "2001:db8::1 or 2001:db8::/56")?,
        );
        Ok(())
    }

    fn listed<N, A>(&self, column: &str, example: &str) -> Result<Vec<IpNet>, ConfigError>
    where
        N: FromStr + Into<IpNet>,
        A: FromStr + Into<IpAddr>,
    {
        // A list may stand in brackets, as some programs write it.
        let text = self.get(column).trim_matches(['[', ']']);
        let entries = text.split(',').map(|entry| entry.trim().trim_matches(['\'', '"']));
        let read = |entry: &str| {
            let whole = entry.parse::<A>().ok().map(|address| IpNet::from(address.into()));
            let net = whole.or_else(|| entry.parse::<N>().ok().map(Into::into));
            net.map(|net| net.trunc()).ok_or_else(|| {
                self.fault(column, format!("expected addresses such as {example}, got \"{entry}\""))
            })
        };
        entries.filter(|entry| !entry.is_empty()).map(read).collect()
    }
}

impl Network {
    /// Adds the circuits of the devices in `text`, whose file is called `file`.
    ///
    /// # Errors
    /// A column is missing, or a line is wrong. The message names the file, the line and the
    /// column.
    pub fn add_devices(&mut self, text: &str, file: &str) -> Result<(), ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .flexible(true)
            .from_reader(text.as_bytes());
        let broken = |error: csv::Error| {
            let line = error.position().map_or(0, csv::Position::line);
            ConfigError::new(format!("{file}: line {line}"), format!("is not CSV: {error}"))
        };
        let header = reader.headers().map_err(broken)?.clone();
        let mut places = HashMap::new();
        for (place, title) in header.iter().enumerate() {
            let letters = title.chars().filter(char::is_ascii_alphanumeric);
            let plain: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
            let known = COLUMNS.iter().find(|(_, names)| names.contains(&plain.as_str()));
            known.map(|(column, _)| places.entry(*column).or_insert(place));
        }
        for column in NEEDED {
            if !places.contains_key(column) {
                return Err(ConfigError::new(
                    file,
                    format!("has no column \"{column}\"; expected LibreQoS' ShapedDevices.csv"),
                ));
            }
        }
        // As in LibreQoS, fields that nothing needs may be missing at the end of a line.
        let least = NEEDED.iter().map(|column| places[column] + 1).max().unwrap_or_default();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(broken)? {
            if record.iter().all(str::is_empty) {
                continue;
            }
            let line = record.position().map_or(0, |position| line_of(text, position));
            let row = Row { record: &record, places: &places, file, line };
            if record.len() < least {
                let (fields, all) = (record.len(), header.len());
                return Err(ConfigError::new(
                    format!("{file}: line {line}"),
                    format!(
                        "has {fields} of {all} fields; complete it, at least the first {least}"
                    ),
                ));
            }
            let id = row.get("Circuit ID");
            if id.is_empty() {
                return Err(row.fault("Circuit ID", "is missing"));
            }
            if let Some(place) = known.get(id) {
                let again = self.circuit(&row)?;
                row.repeats(&self.circuits[*place], &again)?;
                self.circuits[*place].addresses.extend(again.addresses);
                self.further.push(id.to_owned());
                continue;
            }
            if known.len() == MOST {
                return Err(row.fault("Circuit ID", format!("at most {MOST} circuits are read")));
            }
            known.insert(id.to_owned(), self.circuits.len());
            self.circuits.push(self.circuit(&row)?);
        }
        if known.is_empty() {
            return Err(ConfigError::new(file, "has no circuits"));
        }
        self.circuits.sort_by_key(|circuit| circuit.parent.map_or(0, |parent| parent + 1));
        Ok(())
    }

    fn circuit(&self, row: &Row) -> Result<Circuit, ConfigError> {
        let parent_name = row.get("Parent Node");
        let parent = match self.by_name.get(parent_name) {
            Some(parent) => *parent,
            None if parent_name.is_empty() => None,
            None => {
                let names: Vec<_> = self.by_name.keys().map(String::as_str).collect();
                let near = forebay_core::config::nearest(parent_name, &names);
                let meant = near.map_or("leave it empty for a flat network".into(), |near| {
                    format!("did you mean \"{near}\"?")
                });
                let message = format!("no node is called \"{parent_name}\"; {meant}");
                return Err(row.fault("Parent Node", message));
            }
        };
        let least = row.rates("Download Min Mbps", "Upload Min Mbps")?;
        let most = row.rates("Download Max Mbps", "Upload Max Mbps")?;
        for (column, least, most) in
            [("Download Min Mbps", least.down, most.down), ("Upload Min Mbps", least.up, most.up)]
        {
            if let Some((least, most)) = least.zip(most).filter(|(least, most)| least > most) {
                return Err(row.fault(
                    column,
                    format!("must be at most the largest rate ({most}), got {least}"),
                ));
            }
        }
        let mut addresses = Vec::new();
        row.addresses(&mut addresses)?;
        Ok(Circuit {
            id: row.get("Circuit ID").to_owned(),
            name: row.get("Circuit Name").to_owned(),
            line: row.line,
            parent,
            parent_name: parent_name.to_owned(),
            least,
            most,
            queue: row.queue()?,
            addresses,
        })
    }
}

/// The line of the record that begins at `position` of `text` or after lines that are skipped there.
fn line_of(text: &str, position: &csv::Position) -> u64 {
    let skipped = |line: &&str| line.is_empty() || line.starts_with('#');
    let rest = text.get(position.byte() as usize..).unwrap_or_default();
    position.line() + rest.lines().take_while(skipped).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = r#"{ "AP 1": {}, "AP 2": { "virtual": true } }"#;
    const HEAD: &str = "Circuit ID,Circuit Name,Parent Node,IPv4,IPv6,Download Min Mbps,\
        Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment,sqm";

    fn read(lines: &str) -> Result<Network, ConfigError> {
        let mut network = Network::read(TREE, "network.json").unwrap();
        network.add_devices(&format!("{HEAD}\n{lines}"), "d.csv").map(|()| network)
    }

    #[test]
    fn circuits_gather_their_devices() {
        let network = read(
            "# by hand\n1,\"5, Lane\",AP 1,\"100.64.0.1, 100.64.1.9/30\",2001:db8::1/56,1,0.5,25,10.5,,\n\
             1,,AP 1,[\"100.64.0.2\"],,1,,25,10.5\n\n 2 ,b,AP 2,,,,,10,,,cake/fq_codel\n\
             3,,AP 2,,,,2,,10,,",
        )
        .unwrap();
        let [two, three, one] = &network.circuits[..] else { panic!("three circuits") };
        let mbit = |rate: f64| Some(Rate::from_bps((rate * 1e6) as u64));
        assert_eq!((one.id.as_str(), one.name.as_str(), one.line), ("1", "5, Lane", 3));
        assert_eq!((one.parent, two.parent), (Some(0), None));
        assert_eq!(one.least, Both { down: mbit(1.0), up: mbit(0.5) });
        assert_eq!(one.most, Both { down: mbit(25.0), up: mbit(10.5) });
        assert_eq!(two.most, Both { down: mbit(10.0), up: None });
        assert_eq!(three.most, Both { down: None, up: mbit(10.0) });
        assert_eq!(three.least, Both { down: None, up: mbit(2.0) });
        assert_eq!(two.queue, Both { down: Some("cake"), up: Some("fq-codel") });
        let nets = ["100.64.0.1/32", "100.64.1.8/30", "2001:db8::/56", "100.64.0.2/32"];
        assert_eq!(one.addresses, nets.map(|net| net.parse().unwrap()));
        assert_eq!(network.further, ["1"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (lines, expected) in [
            (",,AP 1,,,,,1,1,,", "d.csv: line 2: Circuit ID: is missing"),
            (
                "1,,AP 3,,,,,1,1,,",
                "d.csv: line 2: Parent Node: no node is called \"AP 3\"; did you",
            ),
            ("1,,Zzz,,,,,1,1,,", "d.csv: line 2: Parent Node: no node is called \"Zzz\"; leave it"),
            ("1,,,1.2.3,,,,1,1,,", "d.csv: line 2: IPv4: expected addresses such as 100.64.0.1"),
            ("1,,,,1.2.3.4,,,1,1,,", "d.csv: line 2: IPv6: expected addresses such as"),
            ("\n1,,,,,,,much,1,,", "d.csv: line 3: Download Max Mbps: expected Mbit/s above 0"),
            ("1,,,,,,,1,NaN,,", "d.csv: line 2: Upload Max Mbps: expected Mbit/s above 0"),
            ("1,,,,,5,,1,1,,", "d.csv: line 2: Download Min Mbps: must be at most"),
            ("1,,,,,,,1,1,,sfq", "d.csv: line 2: sqm: expected cake, fq_codel, none or two"),
            (
                "1,,,,,,,8e30,1,,",
                "d.csv: line 2: Download Max Mbps: expected at most 1000000000 Mbit/s, got",
            ),
            (
                "1,,,,,,,9,9,,\n2,Mill",
                "d.csv: line 3: has 2 of 11 fields; complete it, at least the first 9",
            ),
            (
                "\n1,,AP 1,,,1,1,9,9,,\n1,,AP 1,,,1,1,8,9",
                "d.csv: line 4: Download Max Mbps: circuit 1 has another plan than in line 3; write",
            ),
            (
                "1,,AP 1,,,,,9,9,,\n1,,AP 2,,,,,9,9,,",
                "d.csv: line 3: Parent Node: circuit 1 has another parent than in line 2; write",
            ),
            (
                "1,,,,,,,9,9,,\n1,,,,,,,9,9,,fq_codel",
                "d.csv: line 3: sqm: circuit 1 has another sqm than in line 2; write",
            ),
            ("", "d.csv: has no circuits"),
        ] {
            let error = read(lines).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{lines}: {error}");
        }
        let mut network = Network::default();
        let error = network.add_devices("a,b\n", "d.csv").unwrap_err().to_string();
        assert!(error.starts_with("d.csv: has no column \"Circuit ID\""), "{error}");
    }
}
