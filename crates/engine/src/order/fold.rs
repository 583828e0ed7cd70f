//! Trees folded for readers: repetitions are left out.

use super::{Leaf, Manner, Meeting, Order};

/// Smallest number of steps of a chain.
const SHORTEST_CHAIN: usize = 3;
/// Smallest number of neighbours that are written as a run.
const SHORTEST_RUN: usize = 3;
/// Smallest number of similar terms or parts whose middle is left out.
const FEWEST_ALIKE: usize = 5;
/// Largest depth of a picture.
const DEEPEST: usize = 100;

/// A folded tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    /// Terms in words, or `...`: `c`, `0..15` (with 15), `0, 2, ..., 14`.
    Terms(String),
    /// A step.
    Meeting(Manner, Vec<Picture>),
    /// Steps one after the other: the start, then the addition of each step.
    Chain(Vec<Picture>),
    /// The parts that one step of a chain adds at once.
    Group(Manner, Vec<Picture>),
}

/// The picture of a tree.
pub fn picture(order: &Order) -> Picture {
    pictured(order, 0)
}

fn pictured(order: &Order, depth: usize) -> Picture {
    let meeting = match order {
        Order::Leaf(leaf) => return Picture::Terms(leaf.name()),
        Order::Meeting(_) if depth == DEEPEST => return Picture::Terms(format!("{} terms", order.leaves().len())),
        Order::Meeting(meeting) => meeting,
    };
    let inside = |part: &Order| pictured(part, depth + 1);
    let all = || meeting.parts.iter().collect::<Vec<_>>();
    let Some(Chain { start, steps }) = chain(meeting).filter(|chain| chain.steps.len() >= SHORTEST_CHAIN) else {
        return Picture::Meeting(meeting.manner, folded(&all(), &inside));
    };
    if meeting.parts.len() == 2 {
        let added: Vec<&Order> = std::iter::once(start).chain(steps.into_iter().flatten()).collect();
        return Picture::Chain(folded(&added, &inside));
    }
    let group = |step: Vec<&Order>| {
        Order::Meeting(Meeting { parts: step.into_iter().cloned().collect(), manner: meeting.manner })
    };
    let groups: Vec<Order> = steps.into_iter().map(group).collect();
    let grouped = |order: &Order| match order {
        Order::Meeting(inner) => Picture::Group(inner.manner, folded(&inner.parts.iter().collect::<Vec<_>>(), &inside)),
        Order::Leaf(_) => inside(order),
    };
    let mut parts = vec![inside(start)];
    parts.extend(folded(&groups.iter().collect::<Vec<_>>(), &grouped));
    Picture::Chain(parts)
}

/// A chain: its start, and the additions of its steps in order.
struct Chain<'a> {
    start: &'a Order,
    steps: Vec<Vec<&'a Order>>,
}

/// The longest chain of similar steps that ends with `last`.
fn chain(last: &Meeting) -> Option<Chain<'_>> {
    let meetings = (0..last.parts.len()).filter(|part| matches!(last.parts[*part], Order::Meeting(_)));
    meetings.map(|spine| chain_along(last, spine)).max_by_key(|chain| chain.steps.len())
}

/// The chain of similar steps that ends with `last` and continues at its part `spine`.
fn chain_along(last: &Meeting, spine: usize) -> Chain<'_> {
    let (mut at, mut spine) = (last, spine);
    let mut steps = Vec::new();
    loop {
        steps.push(without(at, spine));
        let rest = &at.parts[spine];
        let next = match rest {
            Order::Meeting(next) if next.parts.len() == last.parts.len() && next.manner == last.manner => next,
            _ => break,
        };
        let fits = |part: &usize| without(next, *part).iter().zip(&steps[0]).all(|(one, other)| alike(one, other));
        let mut places = (0..next.parts.len()).filter(fits);
        let is_meeting = |part: &usize| matches!(next.parts[*part], Order::Meeting(_));
        let first = places.clone().next();
        let Some(place) = places.find(is_meeting).or(first) else { break };
        (at, spine) = (next, place);
    }
    steps.reverse();
    Chain { start: &at.parts[spine], steps }
}

fn without(meeting: &Meeting, part: usize) -> Vec<&Order> {
    meeting.parts.iter().enumerate().filter(|(place, _)| *place != part).map(|(_, part)| part).collect()
}

/// True if two trees differ in their terms only.
fn alike(x: &Order, y: &Order) -> bool {
    same(x, y, &mut |_, _| true)
}

/// The number that, added to every k of the first tree, gives the second, if there is one.
fn shift(x: &Order, y: &Order) -> Option<i64> {
    let mut by = None;
    let shifted = same(x, y, &mut |x, y| match (x, y) {
        (Leaf::Product(x), Leaf::Product(y)) => *by.get_or_insert(y as i64 - x as i64) == y as i64 - x as i64,
        _ => false,
    });
    by.filter(|_| shifted)
}

/// True if two trees have the same steps, and `leaves` accepts each pair of leaves.
fn same(x: &Order, y: &Order, leaves: &mut dyn FnMut(Leaf, Leaf) -> bool) -> bool {
    let mut open = vec![(x, y)];
    while let Some(pair) = open.pop() {
        match pair {
            (Order::Leaf(x), Order::Leaf(y)) if leaves(*x, *y) => {}
            (Order::Meeting(x), Order::Meeting(y)) if x.manner == y.manner && x.parts.len() == y.parts.len() => {
                open.extend(x.parts.iter().zip(&y.parts));
            }
            _ => return false,
        }
    }
    true
}

/// Pictures of parts, without the middle of runs with evenly spaced k.
fn folded(parts: &[&Order], picture: &dyn Fn(&Order) -> Picture) -> Vec<Picture> {
    let mut pictures = Vec::new();
    let mut rest = parts;
    while let [first, others @ ..] = rest {
        let by = others.first().and_then(|second| shift(first, second));
        let follows = |pair: &&[&Order]| by.is_some() && shift(pair[0], pair[1]) == by;
        let length = 1 + rest.windows(2).take_while(follows).count();
        let last = rest[length - 1];
        let (count, added) = match (first, by) {
            (Order::Leaf(first), Some(1)) if length >= SHORTEST_RUN => {
                (length, vec![Picture::Terms(format!("{}..{}", first.name(), last.first().name()))])
            }
            (Order::Leaf(first), Some(_)) if length >= FEWEST_ALIKE => {
                let names = [first.name(), others[0].first().name(), last.first().name()];
                (length, vec![Picture::Terms(format!("{}, {}, ..., {}", names[0], names[1], names[2]))])
            }
            (Order::Meeting(_), Some(_)) if length >= FEWEST_ALIKE => {
                let left_out = Picture::Terms("...".into());
                (length, vec![picture(first), picture(others[0]), left_out, picture(last)])
            }
            _ => (1, vec![picture(first)]),
        };
        pictures.extend(added);
        rest = &rest[count..];
    }
    pictures
}
