//! From where a scene is seen.

use manyworlds_model::{Quat, Vec3};
use nalgebra::{Matrix3, Matrix4, Rotation3};

use crate::Size;

/// A camera.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Where it is, m.
    pub eye: Vec3,
    /// From its own axes, to the right, upward and toward the one who looks, to those of the world.
    pub rotation: Quat,
    /// Angle between the upper and the lower edge of the picture, rad.
    pub field_of_view: f64,
    /// Middle of what is to be seen, m.
    pub middle: Vec3,
    /// Shadows and the finest detail of what is seen reach this far from the middle, m.
    pub radius: f64,
}

/// From the middle to the camera: motions in the plane y = 0, as those of planar robots, are seen from the side.
const DIRECTION: [f64; 3] = [0.45, -1.0, 0.42];
const FIELD_OF_VIEW: f64 = 0.7;
/// Part of the picture's height and width that what is framed takes.
const FILLED: f64 = 0.85;

impl Camera {
    /// The camera that these points fill the picture of.
    #[must_use]
    pub fn framing(points: &[Vec3], size: Size) -> Self {
        let all = || points.iter().filter(|p| p.iter().all(|x| x.is_finite()));
        let Some((middle, radius)) = ball(points) else {
            return Self::framing(&[Vec3::zeros(), Vec3::repeat(1.0)], size);
        };
        let camera = Self::looking(middle + Vec3::from(DIRECTION), middle, radius);
        let [right, up, back] = camera.axes();
        let mut target = middle;
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
        Self { eye: target + back * distance_from(&target), middle: target, radius: reach, ..camera }
    }

    /// The camera at a point that looks at another, z upward.
    #[must_use]
    pub fn looking(eye: Vec3, middle: Vec3, radius: f64) -> Self {
        Self { eye, rotation: looking(eye, middle), field_of_view: FIELD_OF_VIEW, middle, radius }
    }

    /// Turned about the middle: to the right and upward, rad; never past straight up or down.
    #[must_use]
    pub fn orbited(&self, right: f64, up: f64) -> Self {
        let way = self.eye - self.middle;
        let (distance, around) = (way.norm(), way.y.atan2(way.x));
        let height = (way.z / distance.max(1e-12)).clamp(-1.0, 1.0).asin();
        let (around, height) = (around - right, (height - up).clamp(-1.5, 1.5));
        let back = Vec3::new(height.cos() * around.cos(), height.cos() * around.sin(), height.sin());
        let eye = self.middle + back * distance;
        Self { eye, rotation: looking(eye, self.middle), ..*self }
    }

    /// Moved to the right and upward, in parts of the picture's height.
    #[must_use]
    pub fn panned(&self, right: f64, up: f64) -> Self {
        let height = 2.0 * (self.field_of_view / 2.0).tan() * (self.eye - self.middle).norm();
        let [x, y, _] = self.axes();
        self.along((x * right + y * up) * height)
    }

    /// Moved along, m.
    #[must_use]
    pub fn along(&self, by: Vec3) -> Self {
        Self { eye: self.eye + by, middle: self.middle + by, ..*self }
    }

    /// With this factor of the distance from the middle.
    #[must_use]
    pub fn zoomed(&self, by: f64) -> Self {
        Self { eye: self.middle + (self.eye - self.middle) * by, ..*self }
    }

    /// Unit vectors to the right, up and toward the camera.
    #[must_use]
    pub fn axes(&self) -> [Vec3; 3] {
        [Vec3::x(), Vec3::y(), Vec3::z()].map(|axis| self.rotation * axis)
    }

    /// Unit vector from the eye through a point of the picture: x and y from -1 to 1, to the right and upward.
    #[must_use]
    pub fn ray(&self, [x, y]: [f64; 2], size: Size) -> Vec3 {
        let half = (self.field_of_view / 2.0).tan();
        let aspect = f64::from(size.width) / f64::from(size.height);
        (self.rotation * Vec3::new(x * half * aspect, y * half, -1.0)).normalize()
    }

    /// The five planes that bound what it sees, by inward normals and points: left, right, lower, upper and nearest.
    pub(crate) fn pyramid(&self, size: Size) -> [(Vec3, Vec3); 5] {
        let [right, up, back] = self.axes();
        let y = (self.field_of_view / 2.0).tan();
        let x = y * f64::from(size.width) / f64::from(size.height);
        let near = self.eye - back * self.depths()[0];
        let plane = |normal: Vec3| (normal.normalize(), self.eye);
        [plane(right - back * x), plane(-right - back * x), plane(up - back * y), plane(-up - back * y), (-back, near)]
    }

    /// Distance of what it looks at, m.
    pub(crate) fn distance(&self) -> f64 {
        (self.eye - self.middle).norm().max(self.radius)
    }

    /// Distances between which things are drawn, m.
    pub(crate) fn depths(&self) -> [f64; 2] {
        let away = (self.eye - self.middle).norm();
        // A camera amid the scene sees what is close to it.
        let near = if away > self.radius { 0.02 * away } else { 0.005 * self.radius };
        [near, 30.0 * self.distance()]
    }

    /// From the world to the picture: x and y from -1 to 1, depth from 0 to 1.
    pub(crate) fn clip_from_world(&self, size: Size) -> Matrix4<f64> {
        let [near, far] = self.depths();
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

/// The axes of a camera at a point that looks at another, z upward: where it looks straight up or down, x to the right.
pub(crate) fn looking(eye: Vec3, at: Vec3) -> Quat {
    let back = (eye - at).try_normalize(0.0).unwrap_or_else(Vec3::z);
    let right = Vec3::z().cross(&back).try_normalize(1e-9).unwrap_or_else(Vec3::x);
    let axes = Matrix3::from_columns(&[right, back.cross(&right), back]);
    Quat::from_rotation_matrix(&Rotation3::from_matrix_unchecked(axes))
}

/// Middle of the box about the finite ones of these points, and the largest distance from it; none if there are none.
pub(crate) fn ball(points: &[Vec3]) -> Option<(Vec3, f64)> {
    let all = || points.iter().filter(|p| p.iter().all(|x| x.is_finite()));
    let first = all().next()?;
    let (low, high) = all().fold((*first, *first), |(low, high), p| (low.inf(p), high.sup(p)));
    let middle = (low + high) / 2.0;
    Some((middle, all().map(|p| (p - middle).norm()).fold(1e-3, f64::max)))
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
    fn orbiting_and_panning_keep_their_distance() {
        let camera = Camera::looking(Vec3::new(3.0, -1.0, 2.0), Vec3::new(0.5, 0.5, 0.0), 1.0);
        let turned = camera.orbited(0.7, -9.0);
        assert!(((turned.eye - turned.middle).norm() - (camera.eye - camera.middle).norm()).abs() < 1e-12);
        // As far up as it goes, and z is still upward in the picture.
        assert!(turned.eye.z > 3.0 && turned.axes()[1].z > 0.0, "{turned:?}");
        let back = turned.orbited(-0.7, 1.5 - (2.0 / 3.0_f64).atan2(1.0)).panned(0.3, 0.1).panned(-0.3, -0.1);
        assert!((back.middle - camera.middle).norm() < 1e-12, "{back:?}");
        let near = camera.zoomed(0.5);
        assert!((near.eye - Vec3::new(1.75, -0.25, 1.0)).norm() < 1e-12, "{near:?}");
    }

    #[test]
    fn a_ray_through_a_point_of_the_picture_meets_what_is_seen_there() {
        let size = Size { width: 320, height: 200 };
        let camera = Camera::looking(Vec3::new(3.0, -1.0, 2.0), Vec3::new(0.5, 0.5, 0.0), 1.0);
        let ahead = camera.eye + 4.0 * camera.ray([0.3, -0.6], size);
        let seen = camera.clip_from_world(size) * ahead.push(1.0);
        assert!((seen.x / seen.w - 0.3).abs() < 1e-12 && (seen.y / seen.w + 0.6).abs() < 1e-12, "{seen}");
    }

    #[test]
    fn points_that_are_no_numbers_are_left_out() {
        let size = Size { width: 64, height: 64 };
        let camera = Camera::framing(&[Vec3::repeat(f64::NAN)], size);
        assert!(camera.eye.iter().all(|x| x.is_finite()));
    }
}
