//! Which attributes and elements are read, which have no meaning here, and which would change the physics.

use super::defaults::ACTUATORS;
use crate::ModelError;
use crate::attributes::Attributes;
use crate::import::Report;
use crate::xml::Element;

const SOFTNESS: &str = "softness of constraints has no meaning here: contact is exact";
const STEPPING: &str = "settings of MuJoCo's solver and integrator have no meaning here";
const MARGIN: &str = "contacts and limits act at zero distance";
const GAP: &str = "contacts act from zero distance on; adhesion does from this far";
const OUTPUT: &str = "how MuJoCo computes or saves, without an effect on the model";

/// What the attributes of one kind of element are to us.
struct Rules {
    /// Read, or without any effect on motion (names, colours).
    known: &'static [&'static str],
    /// Read but meaningless here: listed.
    listed: &'static [(&'static str, &'static [&'static str])],
    /// Unsupported unless zero, empty, `false`, `none` or `enable`.
    neutral: &'static [&'static str],
}

const POSE: &[&str] = &["pos", "quat", "axisangle", "euler", "xyaxes", "zaxis"];

const ACTUATOR: Rules = Rules {
    known: &[
        "name",
        "class",
        "group",
        "user",
        "joint",
        "gear",
        "ctrllimited",
        "ctrlrange",
        "forcelimited",
        "forcerange",
        "lengthrange",
        "inheritrange",
        "kp",
        "kv",
        "dampratio",
        "timeconst",
        "gaintype",
        "gainprm",
        "biastype",
        "biasprm",
        "dyntype",
        "dynprm",
        "damping",
        "armature",
        "input",
        "interp",
        "nsample",
        "actrange",
        "actlimited",
        "actdim",
        "actearly",
        "jointinparent",
        "tendon",
        "site",
        "refsite",
        "cranksite",
        "slidersite",
        "cranklength",
        "body",
        "bias",
        "area",
        "diameter",
        "tausmooth",
        "range",
        "force",
        "scale",
        "lmin",
        "lmax",
        "vmax",
        "fpmax",
        "fvmax",
        "gain",
    ],
    listed: &[],
    neutral: &["delay"],
};

fn rules(tag: &str) -> Option<Rules> {
    Some(match tag {
        "compiler" => Rules {
            known: &[
                "angle",
                "coordinate",
                "autolimits",
                "eulerseq",
                "meshdir",
                "assetdir",
                "texturedir",
                "strippath",
                "inertiafromgeom",
                "inertiagrouprange",
                "balanceinertia",
                "boundmass",
                "boundinertia",
                "settotalmass",
                "alignfree",
            ],
            listed: &[(
                OUTPUT,
                &[
                    "discardvisual",
                    "fusestatic",
                    "fitaabb",
                    "usethread",
                    "saveinertial",
                    "savecanonical",
                    "savecompiled",
                    "conflict",
                    "passthrough",
                    "exactmeshinertia",
                    "convexhull",
                ],
            )],
            neutral: &[],
        },
        "option" => Rules {
            known: &["timestep", "gravity", "density", "viscosity", "wind", "magnetic", "apirate"],
            listed: &[
                (
                    STEPPING,
                    &[
                        "integrator",
                        "solver",
                        "iterations",
                        "tolerance",
                        "cone",
                        "jacobian",
                        "impratio",
                        "ls_iterations",
                        "ls_tolerance",
                        "noslip_iterations",
                        "noslip_tolerance",
                        "ccd_iterations",
                        "ccd_tolerance",
                        "sdf_iterations",
                        "sdf_initpoints",
                        "sleep_tolerance",
                        "mpr_iterations",
                        "mpr_tolerance",
                        "collision",
                    ],
                ),
                (
                    "contact overrides act only when a flag enables them",
                    &["o_margin", "o_solref", "o_solimp", "o_friction"],
                ),
            ],
            neutral: &["actuatorgroupdisable"],
        },
        "flag" => Rules {
            known: &[
                "filterparent",
                "gravity",
                "contact",
                "constraint",
                "limit",
                "frictionloss",
                "equality",
                "spring",
                "damper",
                "clampctrl",
                "passive",
                "override",
            ],
            listed: &[(
                STEPPING,
                &[
                    "eulerdamp",
                    "warmstart",
                    "autoreset",
                    "energy",
                    "fwdinv",
                    "invdiscrete",
                    "multiccd",
                    "nativeccd",
                    "island",
                    "refsafe",
                    "sensor",
                    "sleep",
                    "midphase",
                    "diagexact",
                    "ipc",
                    "speculative",
                ],
            )],
            neutral: &["actuation"],
        },
        "body" => Rules {
            known: &["name", "childclass", "user", "gravcomp", "mocap"],
            listed: &[(OUTPUT, &["fuse", "simple", "sleep"])],
            neutral: &[],
        },
        "inertial" => Rules { known: &["mass", "diaginertia", "fullinertia"], listed: &[], neutral: &[] },
        "flexcomp" => Rules {
            known: &[
                "name",
                "type",
                "group",
                "dim",
                "dof",
                "count",
                "spacing",
                "radius",
                "mass",
                "scale",
                "file",
                "point",
                "element",
                "texcoord",
                "material",
                "rgba",
                "flatskin",
                "cellcount",
            ],
            listed: &[
                ("a node has no inertia of its own", &["inertiabox"]),
                ("of other kinds of flexcomps", &["origin", "mesh"]),
            ],
            neutral: &["rigid"],
        },
        "replicate" => Rules { known: &["count", "offset", "sep"], listed: &[], neutral: &[] },
        "freejoint" => Rules { known: &["name", "group", "align"], listed: &[], neutral: &[] },
        "joint" => Rules {
            known: &[
                "name",
                "class",
                "type",
                "group",
                "axis",
                "range",
                "limited",
                "ref",
                "springref",
                "stiffness",
                "damping",
                "armature",
                "frictionloss",
                "user",
                "actuatorfrcrange",
                "actuatorfrclimited",
                "actuatorgravcomp",
                "align",
                "springdamper",
            ],
            listed: &[
                (SOFTNESS, &["solreflimit", "solimplimit", "solreffriction", "solimpfriction"]),
                (MARGIN, &["margin"]),
            ],
            neutral: &["springyield"],
        },
        "geom" => Rules {
            known: &[
                "name",
                "class",
                "type",
                "group",
                "size",
                "mass",
                "density",
                "fromto",
                "mesh",
                "hfield",
                "friction",
                "condim",
                "contype",
                "conaffinity",
                "margin",
                "priority",
                "material",
                "rgba",
                "user",
                "fitscale",
                "castshadow",
                "fluidcoef",
                "fluidshape",
                "shellinertia",
            ],
            listed: &[(SOFTNESS, &["solref", "solimp", "solmix"]), (GAP, &["gap"])],
            neutral: &["adhesion", "surfacevel"],
        },
        "mesh" => Rules {
            known: &[
                "name",
                "class",
                "file",
                "vertex",
                "face",
                "scale",
                "refpos",
                "refquat",
                "inertia",
                "normal",
                "texcoord",
                "smoothnormal",
                "content_type",
                "material",
                "maxhullvert",
                "params",
                "builtin",
            ],
            listed: &[],
            neutral: &[],
        },
        "hfield" => Rules {
            known: &["name", "file", "content_type", "nrow", "ncol", "elevation", "size"],
            listed: &[],
            neutral: &[],
        },
        "pair" => Rules {
            known: &["name", "class", "geom1", "geom2", "condim", "friction", "margin"],
            listed: &[(SOFTNESS, &["solref", "solimp", "solreffriction"]), (GAP, &["gap"])],
            neutral: &["adhesion"],
        },
        "fixed" | "spatial" => Rules {
            known: &[
                "name",
                "class",
                "group",
                "user",
                "limited",
                "range",
                "stiffness",
                "damping",
                "springlength",
                "frictionloss",
                "width",
                "material",
                "rgba",
                "actuatorfrcrange",
                "actuatorfrclimited",
            ],
            listed: &[
                (SOFTNESS, &["solreflimit", "solimplimit", "solreffriction", "solimpfriction"]),
                (MARGIN, &["margin"]),
            ],
            neutral: &["armature"],
        },
        "equality" | "connect" | "weld" => Rules {
            known: &["name", "class", "active", "body1", "body2", "site1", "site2", "anchor", "relpose", "torquescale"],
            listed: &[(SOFTNESS, &["solref", "solimp"])],
            neutral: &[],
        },
        tag if ACTUATORS.contains(&tag) => ACTUATOR,
        _ => return None,
    })
}

/// Lists attributes without a meaning and refuses unknown ones (a typing mistake would otherwise go unseen).
pub(super) fn check(element: &Element, report: &mut Report) -> Result<(), ModelError> {
    let Some(rules) = rules(&element.tag) else { return Ok(()) };
    check_by(element, &rules, report)
}

/// The joints of an equality have attributes of their own.
pub(super) fn check_coupling(element: &Element, report: &mut Report) -> Result<(), ModelError> {
    let known: &[&str] = match element.tag.as_str() {
        "tendon" => &["name", "class", "active", "tendon1", "tendon2", "polycoef"],
        _ => &["name", "class", "active", "joint1", "joint2", "polycoef"],
    };
    check_by(element, &Rules { known, listed: &[(SOFTNESS, &["solref", "solimp"])], neutral: &[] }, report)
}

/// An element of a flexcomp; some have the names of sections.
pub(super) fn check_flex(element: &Element, report: &mut Report) -> Result<(), ModelError> {
    let rules = match element.tag.as_str() {
        "elasticity" => Rules {
            known: &["young", "poisson", "damping"],
            listed: &[("of shells", &["thickness", "elastic2d"])],
            neutral: &["yield"],
        },
        "contact" => Rules {
            known: &["friction", "condim", "contype", "conaffinity", "priority", "margin", "selfcollide"],
            listed: &[
                (SOFTNESS, &["solref", "solimp", "solmix"]),
                (GAP, &["gap"]),
                ("no contact of a soft body with itself", &["internal", "vertcollide", "activelayers", "passive"]),
            ],
            neutral: &[],
        },
        "edge" => Rules {
            known: &[],
            listed: &[(SOFTNESS, &["solref", "solimp"])],
            neutral: &["equality", "stiffness", "damping"],
        },
        "pin" => Rules { known: &["id", "range", "grid", "gridrange"], listed: &[], neutral: &[] },
        "plugin" => return report.unsupported(element.location(), "plugins"),
        other => return report.unsupported(element.location(), format!("unknown element <{other}>")),
    };
    check_by(element, &rules, report)?;
    check_neutral(&Attributes::bare(element), &rules, report)
}

fn check_by(element: &Element, rules: &Rules, report: &mut Report) -> Result<(), ModelError> {
    for (why, names) in rules.listed {
        let found: Vec<&str> = names.iter().copied().filter(|name| element.get(name).is_some()).collect();
        if !found.is_empty() {
            report.ignore(element.location(), format!("{}: {why}", found.join(", ")));
        }
    }
    for (name, _) in &element.attributes {
        let name = name.as_str();
        let known = rules.known.contains(&name)
            || rules.neutral.contains(&name)
            || rules.listed.iter().any(|(_, names)| names.contains(&name))
            || has_pose(&element.tag) && POSE.contains(&name);
        if !known {
            report.unsupported(element.location(), format!("unknown attribute `{name}`"))?;
        }
    }
    Ok(())
}

fn has_pose(tag: &str) -> bool {
    matches!(tag, "body" | "geom" | "inertial" | "replicate" | "joint" | "frame" | "site" | "flexcomp")
}

/// Refuses attributes that would change the physics, whether the element or its default class gives them.
pub(super) fn check_values(a: &Attributes, report: &mut Report) -> Result<(), ModelError> {
    let Some(rules) = rules(&a.element.tag) else { return Ok(()) };
    check_neutral(a, &rules, report)
}

fn check_neutral(a: &Attributes, rules: &Rules, report: &mut Report) -> Result<(), ModelError> {
    for name in rules.neutral {
        if let Some(value) = a.get(name).filter(|v| !is_neutral(v)) {
            report.unsupported(a.element.location(), format!("{name}=\"{value}\""))?;
        }
    }
    Ok(())
}

fn is_neutral(value: &str) -> bool {
    matches!(value, "false" | "none" | "enable" | "") || value.split_whitespace().all(|w| w.parse() == Ok(0.0))
}

/// An element of a default class.
pub(super) fn check_default(element: &Element, report: &mut Report) -> Result<(), ModelError> {
    // Unsupported kinds of elements matter only where they are used.
    if ["dcmotor", "plugin", "pid", "orientation"].contains(&element.tag.as_str()) {
        return Ok(());
    }
    check(element, report)
}

/// A top-level section that is not read.
pub(super) fn unknown_section(element: &Element, report: &mut Report) -> Result<(), ModelError> {
    let why = match element.tag.as_str() {
        "visual" | "statistic" => "looks only",
        "size" => "memory sizes have no meaning here",
        "deformable" if element.children.iter().all(|c| c.tag == "skin") => "looks only",
        "deformable" => {
            return report.unsupported(element.location(), "<deformable>; soft bodies are read from <flexcomp>");
        }
        other => return report.unsupported(element.location(), format!("unknown section <{other}>")),
    };
    report.ignore(element.location(), why);
    Ok(())
}

/// An element of a body that is not read.
pub(super) fn unread_body_element(element: &Element, report: &mut Report) -> Result<(), ModelError> {
    match element.tag.as_str() {
        "plugin" => report.unsupported(element.location(), "plugins"),
        "composite" => report.unsupported(element.location(), "composites"),
        other => report.unsupported(element.location(), format!("unknown element <{other}>")),
    }
}
