#![no_main]

forebay_fuzz::target!("page");
