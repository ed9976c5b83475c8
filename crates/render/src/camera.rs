//! From where a scene is seen.

use manyworlds_model::Vec3;
use nalgebra::Matrix4;

use crate::Size;

/// A camera with z upward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Where it is, m.
    pub eye: Vec3,
    /// What it looks at, m.
    pub target: Vec3,
    /// Angle between the upper and the lower edge of the picture, rad.
    pub field_of_view: f64,
    /// Shadows and the finest detail of what is seen reach this far from the target, m.
    pub radius: f64,
}

/// From the target to the camera: motions in the plane y = 0, as those of planar robots, are seen from the side.
const DIRECTION: [f64; 3] = [0.45, -1.0, 0.42];
const FIELD_OF_VIEW: f64 = 0.7;
/// Part of the picture's height and width that what is framed takes.
const FILLED: f64 = 0.85;

impl Camera {
    /// The camera that these points fill the picture of.
    #[must_use]
    pub fn framing(points: &[Vec3], size: Size) -> Self {
        let all = || points.iter().filter(|p| p.iter().all(|x| x.is_finite()));
        let Some(first) = all().next() else { return Self::framing(&[Vec3::zeros(), Vec3::repeat(1.0)], size) };
        let (low, high) = all().fold((*first, *first), |(low, high), p| (low.inf(p), high.sup(p)));
        let mut target = (low + high) / 2.0;
        let radius = all().map(|p| (p - target).norm()).fold(1e-3, f64::max);
        let camera = Self { eye: target + Vec3::from(DIRECTION), target, field_of_view: FIELD_OF_VIEW, radius };
        let [right, up, back] = camera.axes();
        let slope_y = (FIELD_OF_VIEW / 2.0).tan() * FILLED;
        let slope_x = slope_y * f64::from(size.width) / f64::from(size.height);
        // So far off that each point is inside the pyramid of what is seen.
        let distance_from = |target: &Vec3| {
            let needed = |p: &Vec3| {
                let p = p - target;
                (p.dot(&right).abs() / slope_x).max(p.dot(&up).abs() / slope_y) + p.dot(&back)
            };
            all().map(needed).fold(radius * 1.05, f64::max)
        };
        // What is nearer is drawn larger, so the middle of the points is not that of the picture: a few turns centre it.
        for _ in 0..4 {
            let distance = distance_from(&target);
            for axis in [right, up] {
                let off = |p: &Vec3| (p - target).dot(&axis) / (distance - (p - target).dot(&back));
                let (least, most) = all().map(off).fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
                target += axis * (distance * (least + most) / 2.0);
            }
        }
        let reach = all().map(|p| (p - target).norm()).fold(1e-3, f64::max);
        Self { eye: target + back * distance_from(&target), target, radius: reach, ..camera }
    }

    /// Unit vectors to the right, up and toward the camera.
    pub(crate) fn axes(&self) -> [Vec3; 3] {
        let back = (self.eye - self.target).try_normalize(0.0).unwrap_or_else(Vec3::z);
        let right = Vec3::z().cross(&back).try_normalize(1e-9).unwrap_or_else(Vec3::x);
        [right, back.cross(&right), back]
    }

    /// Distance of what it looks at, m.
    pub(crate) fn distance(&self) -> f64 {
        (self.eye - self.target).norm()
    }

    /// From the world to the picture: x and y from -1 to 1, depth from 0 to 1.
    pub(crate) fn clip_from_world(&self, size: Size) -> Matrix4<f64> {
        let (near, far) = (0.02 * self.distance(), 30.0 * self.distance());
        let focal = 1.0 / (self.field_of_view / 2.0).tan();
        let mut projection = Matrix4::zeros();
        projection[(0, 0)] = focal * f64::from(size.height) / f64::from(size.width);
        projection[(1, 1)] = focal;
        projection[(2, 2)] = far / (near - far);
        projection[(2, 3)] = near * far / (near - far);
        projection[(3, 2)] = -1.0;
        projection * view(self.axes(), self.eye)
    }
}

/// From the world to a frame with these axes at this origin.
pub(crate) fn view(axes: [Vec3; 3], origin: Vec3) -> Matrix4<f64> {
    let mut view = Matrix4::identity();
    for (row, axis) in axes.iter().enumerate() {
        view.fixed_view_mut::<1, 3>(row, 0).copy_from(&axis.transpose());
        view[(row, 3)] = -axis.dot(&origin);
    }
    view
}

#[cfg(test)]
mod tests {
    use manyworlds_model::Vec3;

    use super::Camera;
    use crate::Size;

    #[test]
    fn what_is_framed_fills_the_picture() {
        for (size, far) in [(Size { width: 640, height: 480 }, 3.0), (Size { width: 200, height: 900 }, 1e3)] {
            let points = [Vec3::new(1.0, 2.0, 3.0), Vec3::new(1.0 + far, 2.5, 3.5), Vec3::new(1.5, -2.0, 3.0)];
            let clip = Camera::framing(&points, size).clip_from_world(size);
            let seen: Vec<_> = points.iter().map(|p| clip * p.push(1.0)).map(|p| p.xyz() / p.w).collect();
            let widest = seen.iter().flat_map(|p| [p.x.abs(), p.y.abs()]).fold(0.0, f64::max);
            assert!((0.8..0.9).contains(&widest), "{seen:?}");
            assert!(seen.iter().all(|p| (0.0..1.0).contains(&p.z)), "{seen:?}");
        }
    }

    #[test]
    fn points_that_are_no_numbers_are_left_out() {
        let size = Size { width: 64, height: 64 };
        let camera = Camera::framing(&[Vec3::repeat(f64::NAN)], size);
        assert!(camera.eye.iter().all(|x| x.is_finite()));
    }
}
