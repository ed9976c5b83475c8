use proptest::prelude::*;

use super::{Links, NONE, Organiser, Plan};

/// A constraint list with owned storage.
#[derive(Debug, Clone)]
struct Graph {
    n: usize,
    begins: Vec<u32>,
    touched: Vec<u32>,
}

impl Graph {
    fn new(n: usize, constraints: &[Vec<u32>]) -> Self {
        let mut begins = vec![0];
        let mut touched = Vec::new();
        for c in constraints {
            touched.extend_from_slice(c);
            begins.push(touched.len() as u32);
        }
        Self { n, begins, touched }
    }

    fn links(&self) -> Links<'_> {
        Links { n_subsystems: self.n, begins: &self.begins, touched: &self.touched }
    }
}

fn graphs() -> impl Strategy<Value = Graph> {
    (1usize..30).prop_flat_map(|n| {
        prop::collection::vec(prop::collection::vec(0..n as u32, 0..4), 0..200).prop_map(move |c| Graph::new(n, &c))
    })
}

/// Component of each subsystem by repeated relaxation: slow and plain.
fn components(links: Links) -> Vec<u32> {
    let mut label: Vec<u32> = (0..links.n_subsystems as u32).collect();
    loop {
        let before = label.clone();
        for i in 0..links.len() {
            if let Some(low) = links.of(i).iter().map(|&s| label[s as usize]).min() {
                links.of(i).iter().for_each(|&s| label[s as usize] = low);
            }
        }
        if label == before {
            return label;
        }
    }
}

/// First violated property of a plan, or none.
fn fault(links: Links, min_members: u32, plan: &Plan) -> Option<&'static str> {
    let component = components(links);
    let size = |c: u32| component.iter().filter(|&&x| x == c).count() as u32;
    let kept = |i: usize| links.of(i).first().is_some_and(|&s| size(component[s as usize]) >= min_members);
    let mut listed = plan.constraints.clone();
    listed.sort_unstable();
    if listed != (0..links.len() as u32).filter(|&i| kept(i as usize)).collect::<Vec<_>>() {
        return Some("constraints are not exactly those of the kept islands");
    }
    if plan.island_of.len() != links.n_subsystems {
        return Some("island_of has a wrong length");
    }
    let mut end = (0, 0, 0);
    for (number, island) in plan.islands.iter().enumerate() {
        if (island.members.start, island.constraints.start, island.colours.start) != end {
            return Some("islands are not contiguous");
        }
        end = (island.members.end, island.constraints.end, island.colours.end);
        let members = plan.members_of(island);
        let lowest = component[members[0] as usize];
        let expected = (0..links.n_subsystems as u32).filter(|&s| component[s as usize] == lowest);
        if !expected.eq(members.iter().copied()) {
            return Some("an island is not a component");
        }
        if members.iter().any(|&s| plan.island_of[s as usize] != number as u32) {
            return Some("island_of disagrees");
        }
        let mut covered = island.constraints.start;
        for colour in island.colours.clone() {
            let range = plan.colour(island, colour);
            if range.start != covered || range.is_empty() {
                return Some("colours do not partition their island");
            }
            covered = range.end;
            let own = &plan.constraints[range.start as usize..range.end as usize];
            if own.windows(2).any(|w| w[0] >= w[1]) {
                return Some("a colour is not in input order");
            }
            let mut seen = vec![NONE; links.n_subsystems];
            for &i in own {
                for &s in links.of(i as usize) {
                    if seen[s as usize] != NONE && seen[s as usize] != i {
                        return Some("two constraints of a colour share a subsystem");
                    }
                    seen[s as usize] = i;
                }
            }
        }
        if covered != island.constraints.end {
            return Some("colours do not cover their island");
        }
    }
    if plan
        .islands
        .windows(2)
        .any(|w| plan.members[w[0].members.start as usize] >= plan.members[w[1].members.start as usize])
    {
        return Some("islands are not in the order of their lowest member");
    }
    None
}

proptest! {
    #[test]
    fn plans_have_every_property(graph in graphs(), min_members in 1u32..4) {
        let mut organiser = Organiser::default();
        let plan = organiser.organise(graph.links(), min_members).clone();
        prop_assert_eq!(fault(graph.links(), min_members, &plan), None);
    }

    #[test]
    fn what_was_organised_before_does_not_matter(before in graphs(), graph in graphs()) {
        let mut used = Organiser::default();
        used.organise(before.links(), 1);
        let fresh = Organiser::default().organise(graph.links(), 2).clone();
        prop_assert_eq!(used.organise(graph.links(), 2), &fresh);
    }
}

#[test]
fn the_property_check_can_fail() {
    let graph = Graph::new(4, &[vec![0, 1], vec![1, 2], vec![2, 3]]);
    let good = Organiser::default().organise(graph.links(), 2).clone();
    assert_eq!(fault(graph.links(), 2, &good), None);
    let mut merged = good.clone();
    merged.colours = vec![3];
    merged.islands[0].colours = 0..1;
    assert!(fault(graph.links(), 2, &merged).is_some());
    let mut short = good.clone();
    short.constraints.pop();
    assert!(fault(graph.links(), 2, &short).is_some());
}

#[test]
fn the_ground_joins_nothing_and_single_trees_are_left_out() {
    // 0 and 1 touch each other and the ground; 2 only the ground; 3 nothing; one contact of two static geoms.
    let graph = Graph::new(4, &[vec![0], vec![0, 1], vec![2], vec![], vec![2]]);
    let mut organiser = Organiser::default();
    let plan = organiser.organise(graph.links(), 2);
    assert_eq!(plan.islands.len(), 1);
    assert_eq!(plan.members, [0, 1]);
    assert_eq!(plan.constraints, [0, 1]);
    assert_eq!(plan.island_of, [0, 0, NONE, NONE]);
    let all = organiser.organise(graph.links(), 1);
    assert_eq!(all.islands.len(), 2, "the tree without constraints is in no island");
}

#[test]
fn a_stack_takes_two_colours_a_layer_of_contacts() {
    // Ten boxes, four contacts at each interface.
    let constraints: Vec<Vec<u32>> =
        (0..10u32).flat_map(|i| vec![if i == 0 { vec![0] } else { vec![i - 1, i] }; 4]).collect();
    let graph = Graph::new(10, &constraints);
    let mut organiser = Organiser::default();
    let plan = organiser.organise(graph.links(), 2);
    assert_eq!(plan.colours.len(), 8);
}

#[test]
fn more_colours_than_a_machine_word_has_bits() {
    let graph = Graph::new(2, &vec![vec![0, 1]; 200]);
    let mut organiser = Organiser::default();
    let plan = organiser.organise(graph.links(), 2);
    assert_eq!(plan.colours, (1..=200).collect::<Vec<u32>>());
}

#[test]
fn cost_grows_in_proportion_and_nothing_is_allocated_again() {
    let chain = |n: u32| Graph::new(n as usize, &(0..n - 1).map(|i| vec![i, i + 1]).collect::<Vec<_>>());
    let mut organiser = Organiser::default();
    let large = chain(10_000);
    organiser.organise(large.links(), 2);
    let capacity = (organiser.plan.constraints.capacity(), organiser.plan.colours.capacity());
    let time = |organiser: &mut Organiser, graph: &Graph| {
        let times = (0..7).map(|_| {
            let start = std::time::Instant::now();
            organiser.organise(graph.links(), 2);
            start.elapsed()
        });
        times.min().unwrap().as_secs_f64()
    };
    let small = chain(1_000);
    let ratio = time(&mut organiser, &large) / time(&mut organiser, &small);
    assert!(ratio < 40.0, "ten times the bodies took {ratio} times as long");
    assert_eq!(capacity, (organiser.plan.constraints.capacity(), organiser.plan.colours.capacity()));
}
