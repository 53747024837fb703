//! Helpers for parts that take over other parameters and keep their state.

use std::any::Any;

/// Gives `own` the parameters of `fresh`, if that has the same type. The fields that `state`
/// selects are kept.
pub(crate) fn retuned<T: 'static, S>(
    own: &mut T,
    fresh: &mut dyn Any,
    state: fn(&mut T) -> &mut S,
) -> bool {
    fresh.downcast_mut::<T>().is_some_and(|fresh| {
        std::mem::swap(state(own), state(fresh));
        std::mem::swap(own, fresh);
        true
    })
}

/// Replaces `own`, which has no state, by `fresh`, if that has the same type.
pub(crate) fn replaced<T: 'static>(own: &mut T, fresh: &mut dyn Any) -> bool {
    fresh.downcast_mut::<T>().map(|fresh| std::mem::swap(own, fresh)).is_some()
}

/// Whether `fresh` has the same parameters, so that nothing has to change.
pub(crate) fn unchanged<T: PartialEq + 'static>(own: &T, fresh: &dyn Any) -> bool {
    fresh.downcast_ref::<T>().is_some_and(|fresh| fresh == own)
}
