//! The meaning of scenarios that are made from the schema.

use forebay_fuzzing::{grow, meaning, scenario};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_scenario_means_the_same_wherever_it_is_asked(
        data in prop::collection::vec(any::<u8>(), 0..6000)
    ) {
        let mut grown = grow::scenarios(&data);
        let read = grown.iter_mut().map(|tree| scenario::runnable(tree).expect("it can run"));
        let read: Vec<_> = read.collect();
        for (scenario, effective) in &read {
            meaning::says_the_same(scenario, effective);
        }
        let (last, _) = read.last().expect("the first one at least");
        meaning::every_link_takes_a_queue(grown.last().expect("as above"), last);
        meaning::identities_tell_apart(read.iter());
    }
}
