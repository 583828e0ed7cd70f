//! The search: a tree that grows term by term.

use super::{
    CHECKS, Contradiction, FoundOrder, Leaf, Manner, Meeting, Order,
    masks::{Encounter, Masks},
};
use crate::{Result, inputs::random};

/// Places of a path that are asked at a time.
const PROBES: usize = 3;

/// A tree that grows. Nodes have indices; the indices of leaves are those of the terms.
struct Growing {
    nodes: Vec<GrowingNode>,
    root: usize,
    /// Index of the newest leaf.
    newest: usize,
}

struct GrowingNode {
    parent: Option<usize>,
    /// Empty for a leaf.
    children: Vec<usize>,
    manner: Manner,
    /// Index of its first leaf.
    leaf: usize,
    /// Number of its leaves.
    size: usize,
}

/// Finds the order in which the terms of these masks are summed.
pub(super) fn tree(masks: &mut Masks<'_>) -> Result<Order> {
    let terms = masks.len();
    let leaf = |leaf| GrowingNode { parent: None, children: Vec::new(), manner: Manner::Pair, leaf, size: 1 };
    let mut tree = Growing { nodes: (0..terms).map(leaf).collect(), root: 0, newest: 0 };
    for term in 1..terms {
        tree.insert(masks, term)?;
    }
    Ok(tree.order(masks))
}

/// Tests a tree with random masks.
pub(super) fn checked(mut masks: Masks<'_>, order: Order) -> Result<FoundOrder> {
    let places = Places::new(&order, masks.len());
    let mut draw = MaskDraw::new(masks.len());
    let (mut checked, mut contradictions) = (0, Vec::new());
    let drawn: Vec<[usize; 3]> = if masks.len() < 3 { Vec::new() } else { (0..CHECKS).map(|_| draw.three()).collect() };
    let kept = masks.kept(&drawn)?;
    for (mask, kept) in drawn.into_iter().zip(kept) {
        let Some(expected) = places.keeps(mask).filter(|_| !kept || masks.can_lose(mask)) else { continue };
        checked += 1;
        if kept != expected {
            let [x, y, tiny] = mask.map(|number| masks.leaf(number));
            contradictions.push(Contradiction { huge: [x, y], tiny, kept, case: masks.mask_case(mask) });
        }
    }
    let cancels = masks.cancels()?;
    let (asked, spans, ranges) = (masks.asked(), masks.spans, masks.ranges());
    Ok(FoundOrder { order, asked, checked, contradictions, cancels, spans, ranges })
}

impl Growing {
    /// Inserts a term.
    fn insert(&mut self, masks: &mut Masks<'_>, term: usize) -> Result<()> {
        // The path leads from a node that contains the new term, or meets it, down to a leaf.
        let mut path = self.path(self.newest);
        self.newest = term;
        loop {
            let (place, encounter) = self.boundary(masks, term, &path)?;
            let at = path[place];
            let Some(encounter) = encounter else {
                self.above(at, term);
                return Ok(());
            };
            let first = self.sibling(at, path[place + 1]);
            let inside = match encounter {
                Encounter::Together(manner) => {
                    let known = [first, path[place + 1]];
                    match self.inner(masks, term, at, known)? {
                        Some(child) => child,
                        None => {
                            self.join(at, term, manner);
                            return Ok(());
                        }
                    }
                }
                Encounter::Later(_) => first,
            };
            path = self.heaviest(inside);
        }
    }

    /// Where the new term meets the leaf at the end of a path.
    ///
    /// This is above the node at the returned index or, with an encounter, at this node or within another of its children.
    fn boundary(&self, masks: &mut Masks<'_>, term: usize, path: &[usize]) -> Result<(usize, Option<Encounter>)> {
        let leaf = path[path.len() - 1];
        let (mut low, mut high) = (0, path.len() - 1);
        while low < high {
            let count = PROBES.min(high - low);
            let places: Vec<usize> = (1..=count).map(|probe| low + (high - low) * probe / (count + 1)).collect();
            let triples: Vec<[usize; 3]> = places
                .iter()
                .map(|place| [term, leaf, self.nodes[self.sibling(path[*place], path[place + 1])].leaf])
                .collect();
            for (place, encounter) in places.into_iter().zip(masks.encounters(&triples)?) {
                match encounter {
                    // The new term and the leaf meet first: search further down.
                    Encounter::Later(2) => low = low.max(place + 1),
                    // The leaf and the other term meet first: search further up.
                    Encounter::Later(0) => high = high.min(place),
                    _ => return Ok((place, Some(encounter))),
                }
            }
        }
        Ok((low.min(path.len() - 1), None))
    }

    /// The child of a node, other than the two known ones, that the new term belongs to.
    fn inner(&self, masks: &mut Masks<'_>, term: usize, node: usize, known: [usize; 2]) -> Result<Option<usize>> {
        let others: Vec<usize> =
            self.nodes[node].children.iter().copied().filter(|child| !known.contains(child)).collect();
        let outside = self.nodes[known[1]].leaf;
        let queries: Vec<[usize; 3]> = others.iter().map(|child| [term, self.nodes[*child].leaf, outside]).collect();
        // One mask excludes most children; the others need all three.
        let kept = masks.kept(&queries)?;
        let maybe: Vec<(usize, [usize; 3])> =
            others.into_iter().zip(queries).zip(kept).filter(|(_, kept)| *kept).map(|(query, _)| query).collect();
        let triples: Vec<[usize; 3]> = maybe.iter().map(|(_, triple)| *triple).collect();
        let encounters = masks.encounters(&triples)?;
        Ok(maybe.into_iter().zip(encounters).find(|(_, met)| *met == Encounter::Later(2)).map(|((child, _), _)| child))
    }

    /// The path from the root to a leaf.
    fn path(&self, leaf: usize) -> Vec<usize> {
        let mut path = vec![leaf];
        while let Some(parent) = self.nodes[path[path.len() - 1]].parent {
            path.push(parent);
        }
        path.reverse();
        path
    }

    /// The path from a node to a leaf through the largest children.
    fn heaviest(&self, node: usize) -> Vec<usize> {
        let mut path = vec![node];
        while let Some(child) =
            self.nodes[path[path.len() - 1]].children.iter().max_by_key(|child| self.nodes[**child].size)
        {
            path.push(*child);
        }
        path
    }

    /// A child of a node, other than `child`.
    fn sibling(&self, node: usize, child: usize) -> usize {
        self.nodes[node]
            .children
            .iter()
            .copied()
            .find(|other| *other != child)
            .expect("a node has two children or more")
    }

    /// Joins a term and a node below a new node.
    fn above(&mut self, node: usize, term: usize) {
        let number = self.nodes.len();
        let GrowingNode { parent, leaf, size, .. } = self.nodes[node];
        self.nodes.push(GrowingNode { parent, children: vec![node, term], manner: Manner::Pair, leaf, size });
        match parent {
            None => self.root = number,
            Some(parent) => {
                let children = &mut self.nodes[parent].children;
                children.iter_mut().filter(|child| **child == node).for_each(|child| *child = number);
            }
        }
        self.nodes[node].parent = Some(number);
        self.nodes[term].parent = Some(number);
        self.grow(number);
    }

    /// Adds a term to a node.
    fn join(&mut self, node: usize, term: usize, manner: Manner) {
        let tree_node = &mut self.nodes[node];
        tree_node.manner =
            if tree_node.children.len() == 2 || tree_node.manner == manner { manner } else { Manner::Undecided };
        tree_node.children.push(term);
        self.nodes[term].parent = Some(node);
        self.grow(node);
    }

    /// Counts a new leaf in a node and all nodes above.
    fn grow(&mut self, node: usize) {
        let mut at = Some(node);
        while let Some(node) = at {
            self.nodes[node].size += 1;
            at = self.nodes[node].parent;
        }
    }

    /// The finished tree.
    fn order(&self, masks: &Masks<'_>) -> Order {
        // Not recursive, because a chain is as deep as it is long. Children come before their parents.
        let (mut order, mut open) = (Vec::new(), vec![self.root]);
        while let Some(node) = open.pop() {
            order.push(node);
            open.extend(&self.nodes[node].children);
        }
        let mut made: Vec<Option<Order>> = self.nodes.iter().map(|_| None).collect();
        for node in order.into_iter().rev() {
            let tree_node = &self.nodes[node];
            let mut children = tree_node.children.clone();
            children.sort_unstable_by_key(|child| self.nodes[*child].leaf);
            let parts: Vec<Order> = children.into_iter().filter_map(|child| made[child].take()).collect();
            made[node] = Some(match parts.is_empty() {
                true => Order::Leaf(masks.leaf(node)),
                false => Order::Meeting(Meeting { parts, manner: tree_node.manner }),
            });
        }
        made[self.root].take().expect("a tree has a root")
    }
}

/// Nodes of a tree with their parents, depths and manners.
struct Places {
    parents: Vec<Option<usize>>,
    depths: Vec<usize>,
    manners: Vec<Manner>,
    /// The node of each leaf, by the index of the leaf.
    leaves: Vec<usize>,
}

impl Places {
    fn new(order: &Order, terms: usize) -> Places {
        let mut places =
            Places { parents: Vec::new(), depths: Vec::new(), manners: Vec::new(), leaves: vec![0; terms] };
        let mut open = vec![(order, None, 0)];
        while let Some((order, parent, depth)) = open.pop() {
            let number = places.parents.len();
            places.parents.push(parent);
            places.depths.push(depth);
            places.manners.push(Manner::Pair);
            match order {
                Order::Leaf(Leaf::C) => places.leaves[0] = number,
                Order::Leaf(Leaf::Product(k)) => places.leaves[k + 1] = number,
                Order::Meeting(meeting) => {
                    places.manners[number] = meeting.manner;
                    open.extend(meeting.parts.iter().map(|part| (part, Some(number), depth + 1)));
                }
            }
        }
        places
    }

    /// The node in which two leaves meet.
    fn meeting(&self, x: usize, y: usize) -> usize {
        let (mut x, mut y) = (self.leaves[x], self.leaves[y]);
        while x != y {
            let deeper = if self.depths[x] >= self.depths[y] { &mut x } else { &mut y };
            *deeper = self.parents[*deeper].expect("leaves meet at the root");
        }
        x
    }

    /// True if the tiny term of a mask survives; `None` if the tree does not decide it.
    fn keeps(&self, [x, y, tiny]: [usize; 3]) -> Option<bool> {
        let [node, with_x, with_y] = [(x, y), (x, tiny), (y, tiny)].map(|(one, other)| self.meeting(one, other));
        // The tiny term meets a huge one at `place`.
        let lost = |place: usize| (self.manners[place] != Manner::Undecided).then_some(false);
        match (with_x == node, with_y == node) {
            (true, true) => match self.manners[node] {
                Manner::Undecided => None,
                manner => Some(manner == Manner::Exact),
            },
            (false, true) if self.depths[with_x] > self.depths[node] => lost(with_x),
            (true, false) => lost(with_y),
            // The huge terms meet first.
            _ => (self.manners[with_x] != Manner::Undecided).then_some(true),
        }
    }
}

/// Terms drawn at random, the same in every run.
struct MaskDraw {
    terms: usize,
    drawn: u64,
}

impl MaskDraw {
    fn new(terms: usize) -> MaskDraw {
        MaskDraw { terms, drawn: 0 }
    }

    fn below(&mut self, count: usize) -> usize {
        self.drawn += 1;
        (random(self.terms as u64, self.drawn) % count as u64) as usize
    }

    /// Three different terms.
    fn three(&mut self) -> [usize; 3] {
        let (x, y, z) = (self.below(self.terms), self.below(self.terms - 1), self.below(self.terms - 2));
        let y = if y >= x { y + 1 } else { y };
        let (low, high) = (x.min(y), x.max(y));
        let z = if z >= low { z + 1 } else { z };
        [x, y, if z >= high { z + 1 } else { z }]
    }
}
