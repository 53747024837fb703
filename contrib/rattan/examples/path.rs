//! A transfer of five seconds through a path of Rattan, with a queue of forebay's. As root:
//! `cargo run --example path -- 10Mbit '{"kind": "red"}'`.

use forebay_disciplines::Disciplines;
use forebay_rattan::DisciplineCellConfig;
use rattan_core::cells::StdPacket;
use rattan_core::config::{CellBuildConfig, DelayCellBuildConfig, RattanConfig};
use rattan_core::env::{StdNetEnvConfig, StdNetEnvMode};
use rattan_core::metal::io::af_packet::AfPacketDriver;
use rattan_core::radix::RattanRadix;
use std::error::Error;
use std::io::{copy, repeat, sink};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let [rate, queue] = &words[..] else { return Err("give a rate and a queue".into()) };
    let cell = DisciplineCellConfig::new(rate.parse()?, serde_json::from_str(queue)?);

    // left -> queue -> wire -> right, and right -> left.
    let env = StdNetEnvConfig { mode: StdNetEnvMode::Isolated, ..Default::default() };
    let mut config = RattanConfig::<StdPacket> { env, ..Default::default() };
    let wire = DelayCellBuildConfig::new(Duration::from_millis(20));
    config.cells.insert("wire".to_owned(), CellBuildConfig::Delay(wire));
    config.cells.insert("queue".to_owned(), CellBuildConfig::Custom);
    let links = [("left", "queue"), ("queue", "wire"), ("wire", "right"), ("right", "left")];
    config.links = links.map(|(from, to)| (from.to_owned(), to.to_owned())).into();
    let mut radix = RattanRadix::<AfPacketDriver>::new(config)?;
    let disciplines = Disciplines::builtin().into();
    let control = radix.build_cell("queue".to_owned(), cell.into_factory(disciplines))?;
    radix.spawn_rattan()?;
    radix.start_rattan()?;

    let to = (radix.right_ip(1), 5001);
    let far = radix.right_spawn(None, move || Ok(TcpListener::bind(to)?))?;
    let listener = far.join().expect("it binds").map_err(|error| error.to_string())?;
    let near = radix.left_spawn(None, move || Ok(TcpStream::connect(to)?))?;
    let mut sender = near.join().expect("it connects").map_err(|error| error.to_string())?;
    let mut receiver = listener.accept()?.0;
    let end = sender.try_clone()?;
    std::thread::spawn(move || copy(&mut repeat(0), &mut sender));
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(5));
        end.shutdown(Shutdown::Both)
    });
    let got = copy(&mut receiver, &mut sink())?;
    println!("{:.2} Mbit/s", got as f64 * 8e-6 / 5.0);
    println!("{}", serde_json::to_string_pretty(&control.status())?);
    Ok(())
}
