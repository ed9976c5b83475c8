//! Thousands of contact-rich worlds stepped together, with exact contact and a certificate for every world.
