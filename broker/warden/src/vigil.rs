//! How the warden waits for a gate that it has just let begin.
//!
//! Such a gate has something to end within some tens of microseconds. A warden that goes to sleep
//! meanwhile is woken for it, and where that stops a core the gate pays as well, when it sends. So it
//! stays awake for a bounded number of looks. Between two of them everything else that is ready goes
//! on. It never steps back for other processes: under load they would take the core for whole slices.
//! Where the end habitually comes later, as on a core that both share, this is tried seldom.

use std::convert::Infallible;
use std::future::pending;
use tokio::task::yield_now;

/// Looks of one wait. One takes less than a microsecond, and where a gate runs on a core of its own
/// its end was met after 60 of them.
const LOOKS: u32 = 128;
/// Waits in vain, one after the other, that end the looking.
const PATIENCE: u32 = 8;
/// Waits asleep between two tries.
const ASLEEP: u32 = 64;

/// The waits of one gate.
#[derive(Debug)]
pub(crate) struct Vigil {
    habit: Habit,
    wait: Wait,
}

/// What was seen of the gate's pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    /// It ends in time: so many waits in vain are left.
    Prompt { patience: u32 },
    /// It does not: so many waits since the last try.
    Late { waits: u32 },
}

/// One wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Nothing is expected, or it is slept for.
    Asleep,
    /// So many looks are left.
    Awake { looks: u32 },
}

impl Default for Vigil {
    fn default() -> Self {
        Self {
            habit: Habit::Prompt { patience: PATIENCE },
            wait: Wait::Asleep,
        }
    }
}

impl Vigil {
    /// From here on the gate is about to say something.
    pub(crate) fn start(&mut self) {
        self.wait = match &mut self.habit {
            Habit::Late { waits } if *waits < ASLEEP => {
                *waits += 1;
                Wait::Asleep
            }
            Habit::Late { .. } | Habit::Prompt { .. } => Wait::Awake { looks: LOOKS },
        };
    }

    /// It has said something.
    pub(crate) fn end(&mut self) {
        let wait = std::mem::replace(&mut self.wait, Wait::Asleep);
        self.habit = match (wait, self.habit) {
            (Wait::Asleep, habit) => habit,
            (Wait::Awake { looks: 1.. }, _) => Habit::Prompt { patience: PATIENCE },
            (Wait::Awake { looks: 0 }, Habit::Prompt { patience }) if patience > 1 => {
                Habit::Prompt {
                    patience: patience - 1,
                }
            }
            (Wait::Awake { looks: 0 }, Habit::Prompt { .. } | Habit::Late { .. }) => {
                Habit::Late { waits: 0 }
            }
        };
    }

    /// Keeps the event loop awake while something is expected. Given up, it has lost nothing.
    pub(crate) async fn keep(&mut self) -> Infallible {
        while let Wait::Awake { looks: looks @ 1.. } = &mut self.wait {
            *looks -= 1;
            yield_now().await;
        }
        pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Context, Poll, Wake};

    /// How often the event loop was kept awake.
    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Looks at most `most` times, or until the vigil sleeps; gives how often it looked.
    fn looked(vigil: &mut Vigil, most: u32) -> u32 {
        let woken = Arc::new(Woken::default());
        let waker = Arc::clone(&woken).into();
        let mut keep = pin!(vigil.keep());
        for look in 0..most {
            assert!(matches!(
                keep.as_mut().poll(&mut Context::from_waker(&waker)),
                Poll::Pending
            ));
            if woken.0.load(Ordering::Relaxed) == look {
                return look;
            }
        }
        most
    }

    /// One wait for a gate that ends after so many looks, or later; gives how often it was looked.
    fn wait(vigil: &mut Vigil, most: u32) -> u32 {
        vigil.start();
        let looked = looked(vigil, most);
        vigil.end();
        looked
    }

    const FOR_EVER: u32 = 10 * LOOKS;

    #[test]
    fn a_wait_looks_so_often_and_then_sleeps_also_when_it_was_given_up_between() {
        let mut vigil = Vigil::default();
        assert_eq!(looked(&mut vigil, FOR_EVER), 0, "nothing is expected");
        vigil.start();
        assert_eq!(looked(&mut vigil, 10), 10);
        assert_eq!(looked(&mut vigil, FOR_EVER), LOOKS - 10);
        assert_eq!(looked(&mut vigil, FOR_EVER), 0);
        vigil.end();
        vigil.start();
        vigil.end();
        assert_eq!(looked(&mut vigil, FOR_EVER), 0, "it has come");
    }

    #[test]
    fn a_gate_that_ends_late_is_slept_for_and_tried_seldom() {
        let mut vigil = Vigil::default();
        for _ in 0..PATIENCE {
            assert_eq!(wait(&mut vigil, FOR_EVER), LOOKS);
        }
        for _ in 0..3 {
            for _ in 0..ASLEEP {
                assert_eq!(wait(&mut vigil, FOR_EVER), 0);
            }
            assert_eq!(wait(&mut vigil, FOR_EVER), LOOKS, "a try");
        }
    }

    #[test]
    fn a_gate_that_ends_in_time_is_waited_for_awake_again() {
        let mut vigil = Vigil::default();
        for _ in 0..PATIENCE + ASLEEP {
            wait(&mut vigil, FOR_EVER);
        }
        assert_eq!(wait(&mut vigil, 5), 5, "a try that meets it");
        for _ in 0..PATIENCE - 1 {
            assert_eq!(wait(&mut vigil, FOR_EVER), LOOKS);
        }
        assert_eq!(wait(&mut vigil, 5), 5, "before patience ends");
        assert_eq!(wait(&mut vigil, FOR_EVER), LOOKS);
    }

    #[test]
    fn what_else_is_ready_goes_on_between_two_looks() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut vigil = Vigil::default();
        vigil.start();
        runtime.block_on(async {
            let other = tokio::spawn(async {
                for _ in 0..LOOKS / 2 {
                    yield_now().await;
                }
            });
            tokio::select! {
                never = vigil.keep() => match never {},
                ended = other => ended.unwrap(),
            }
        });
        let left = looked(&mut vigil, FOR_EVER);
        assert!((LOOKS / 4..=LOOKS / 2).contains(&left), "{left}");
    }
}
