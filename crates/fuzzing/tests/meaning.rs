//! What a scenario means, on scenarios made from the schema.

use forebay_fuzzing::{grow, meaning, scenario};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_scenario_means_the_same_wherever_it_is_asked(data in prop::collection::vec(any::<u8>(), 0..6000)) {
        let grown = grow::scenarios(&data);
        let mut read: Vec<_> = grown.clone();
        let read: Vec<_> =
            read.iter_mut().map(|tree| scenario::runnable(tree).expect("it can run")).collect();
        let (last, effective) = read.last().expect("the first one at least");
        meaning::says_the_same(last, effective);
        meaning::every_link_takes_a_queue(grown.last().expect("as above"), last);
        for pair in read.windows(2) {
            meaning::identities_tell_apart(&pair[0].0, &pair[1].0);
        }
    }
}
