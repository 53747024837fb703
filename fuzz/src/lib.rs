//! What every program shares: libFuzzer's entry point, and an allocator that ends the process
//! rather than let an input ask for more than a gigabyte.

pub use cap::Cap;
pub use libfuzzer_sys::fuzz_target;

/// The program that feeds the target called `$name`.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        #[global_allocator]
        static ALLOCATOR: $crate::Cap<std::alloc::System> =
            $crate::Cap::new(std::alloc::System, 1 << 30);

        $crate::fuzz_target!(|data: &[u8]| forebay_fuzzing::run($name, data));
    };
}
