//! What is wrong with a soft body.

/// A soft body that has no mechanics.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SoftError {
    /// An element without volume, or turned inside out.
    #[error("soft body `{body}`: element {element} is flat or inside out (volume {volume:e} m^3)")]
    Volume {
        /// Name of the body.
        body: String,
        /// Number of the element, from 0.
        element: usize,
        /// Its volume, or the part of it at one of its points of integration, m^3.
        volume: f64,
    },
    /// An element names a node that there is not.
    #[error("soft body `{body}`: element {element} names node {node} of {nodes}")]
    Node {
        /// Name of the body.
        body: String,
        /// Number of the element, from 0.
        element: usize,
        /// The node.
        node: u32,
        /// Number of nodes.
        nodes: usize,
    },
    /// A list of elements that ends within an element.
    #[error("soft body `{body}`: {length} nodes of elements are no multiple of {each}")]
    Length {
        /// Name of the body.
        body: String,
        /// Length of the list.
        length: usize,
        /// Nodes of an element.
        each: usize,
    },
    /// Bricks without an embedding, or with that of others, or tetrahedra with one.
    #[error("soft body `{body}`: bricks want the embedding of their cage, and tetrahedra have none")]
    Embedding {
        /// Name of the body.
        body: String,
    },
    /// A region names an element that there is not.
    #[error("soft body `{body}`: region `{region}` names element {element} of {elements}")]
    Region {
        /// Name of the body.
        body: String,
        /// Name of the region.
        region: String,
        /// The element.
        element: u32,
        /// Number of elements.
        elements: usize,
    },
}
