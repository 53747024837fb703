//! The parameters of a host that runs Linux.

use forebay_core::config::require;
use forebay_core::{Bytes, ConfigError, Duration, params};

params! {
    /// Parameters of Linux's stacks of 2.6.
    #[derive(Copy, PartialEq)]
    pub struct Linux26Params {
        /// Tick of the host's clock (1/HZ), from 1ms to 10ms. Timers expire only at ticks.
        pub tick: Duration = Duration::from_millis(1),
    }
}

params! {
    /// Parameters of Linux 6.1: the host's clock, its interface, and the memory of its sockets.
    #[derive(Copy, PartialEq)]
    pub struct LinuxParams {
        /// Tick of the host's clock (1/HZ), from 1ms to 10ms. Timers expire only at ticks.
        pub tick: Duration = Duration::from_millis(1),
        /// Most segments that leave together, 1 to 65535 (`ip link set gso_max_segs`). Their number
        /// follows from the pacing rate and the round trip, at least two (TSO autosizing). 1 is a
        /// host without segmentation offload: each segment leaves by itself.
        pub gso_max_segs: u32 = 65_535,
        /// Most memory of a send buffer, 4608B to 1GiB: the third number of `tcp_wmem`. It grows up to
        /// there with the window. A segment takes more than its bytes.
        pub tcp_wmem_max: Bytes = Bytes(4_194_304),
        /// Most memory of a receive buffer with `receive_window = "auto"`, 131072B to 1GiB: the third
        /// number of `tcp_rmem`. The window may become half of it.
        pub tcp_rmem_max: Bytes = Bytes(6_291_456),
        /// Size of send buffers that the application asked for (`SO_SNDBUF`), 2304B to 512MiB: twice as
        /// much memory, which does not grow. By default it grows. `receive_window` is `SO_RCVBUF`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub so_sndbuf: Option<Bytes> = None,
    }
}

impl From<Linux26Params> for LinuxParams {
    fn from(params: Linux26Params) -> Self {
        LinuxParams { tick: params.tick, gso_max_segs: 1, ..LinuxParams::default() }
    }
}

impl LinuxParams {
    /// # Errors
    /// The first parameter out of its range.
    pub(in crate::stacks) fn check(&self) -> Result<(), ConfigError> {
        let ticks = Duration::from_millis(1)..=Duration::from_millis(10);
        require(ticks.contains(&self.tick), "tick", || {
            format!("must be from 1ms to 10ms, got \"{}\"", self.tick)
        })?;
        require((1..=65_535).contains(&self.gso_max_segs), "gso_max_segs", || {
            format!("must be from 1 to 65535 segments, got {}", self.gso_max_segs)
        })?;
        let most = 1 << 30;
        for (path, size, least, most) in [
            ("tcp_wmem_max", Some(self.tcp_wmem_max), 4_608, most),
            ("tcp_rmem_max", Some(self.tcp_rmem_max), 131_072, most),
            ("so_sndbuf", self.so_sndbuf, 2_304, most / 2),
        ] {
            require(size.is_none_or(|size| (least..=most).contains(&size.0)), path, || {
                format!("must be from {least}B to {most}B, got \"{}\"", size.unwrap_or_default())
            })?;
        }
        Ok(())
    }
}
