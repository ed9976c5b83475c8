//! stub
use manyworlds_model::{Material, SoftBody};
use manyworlds_sparse::{Ordering, SparseMatrix};
use nalgebra::{Matrix3, Vector3};
use std::sync::Arc;
/// e
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("soft")]
pub struct SoftError;
/// p
#[derive(Debug, Clone)]
pub struct SoftParams {
    /// m
    pub material: Material,
    /// p
    pub pressures: Vec<f64>,
}
/// s
#[derive(Debug)]
pub struct SoftSystem {
    body: SoftBody,
    dofs: Vec<Option<u32>>,
    n: usize,
    ordering: Arc<Ordering>,
    inv: Vec<Matrix3<f64>>,
    vol: Vec<f64>,
    pressure_of: Vec<Option<usize>>,
}
impl SoftSystem {
    /// n
    pub fn new(body: &SoftBody) -> Result<Self, SoftError> {
        let dofs = body.dofs();
        let n = 3 * (body.nodes.len() - body.pinned.len());
        let (mut inv, mut vol) = (vec![], vec![]);
        for e in body.elements.chunks_exact(4) {
            let x: Vec<_> = e.iter().map(|&i| body.nodes[i as usize]).collect();
            let d = Matrix3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]);
            vol.push(d.determinant() / 6.0);
            inv.push(d.try_inverse().ok_or(SoftError)?);
        }
        let mut s = Self {
            body: body.clone(),
            dofs,
            n,
            ordering: Arc::new(Ordering::of(&SparseMatrix::from_triplets(0, &[]).unwrap())),
            inv,
            vol,
            pressure_of: vec![None; body.n_element()],
        };
        for (r, region) in body.regions.iter().enumerate() {
            for &e in &region.elements {
                s.pressure_of[e as usize] = Some(r);
            }
        }
        let mut k = SparseMatrix::default();
        let q = vec![0.0; n];
        s.stiffness(&s.params(), 1.0, &q, &q, false, &mut k);
        s.ordering = Arc::new(Ordering::of(&k));
        Ok(s)
    }
    /// p
    pub fn params(&self) -> SoftParams {
        SoftParams { material: self.body.material, pressures: self.body.regions.iter().map(|r| r.pressure).collect() }
    }
    /// n
    pub fn n_v(&self) -> usize {
        self.n
    }
    /// o
    pub fn ordering(&self) -> &Arc<Ordering> {
        &self.ordering
    }
    /// m
    pub fn mass(&self, p: &SoftParams) -> Vec<f64> {
        let mut m = vec![0.0; self.n];
        for (e, v) in self.body.elements.chunks_exact(4).zip(&self.vol) {
            for &i in e {
                if let Some(d) = self.dofs[i as usize] {
                    for k in 0..3 {
                        m[d as usize + k] += p.material.density * v / 4.0;
                    }
                }
            }
        }
        m
    }
    fn at(&self, q: &[f64], i: u32) -> Vector3<f64> {
        self.body.nodes[i as usize]
            + self.dofs[i as usize]
                .map_or(Vector3::zeros(), |d| Vector3::new(q[d as usize], q[d as usize + 1], q[d as usize + 2]))
    }
    fn grad(&self, q: &[f64], e: usize) -> Matrix3<f64> {
        let n = &self.body.elements[4 * e..4 * e + 4];
        let x: Vec<_> = n.iter().map(|&i| self.at(q, i)).collect();
        Matrix3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]) * self.inv[e]
    }
    fn p(&self, p: &SoftParams, e: usize, f: &Matrix3<f64>) -> Matrix3<f64> {
        let [mu, la] = p.material.lame();
        let cof = Matrix3::from_columns(&[
            f.column(1).cross(&f.column(2)),
            f.column(2).cross(&f.column(0)),
            f.column(0).cross(&f.column(1)),
        ]);
        let j = f.determinant();
        let pr = self.pressure_of[e].map_or(0.0, |r| p.pressures[r]);
        mu * f + cof * (-mu + (la + mu) * (j - 1.0) - pr)
    }
    /// f
    pub fn force(&self, p: &SoftParams, h: f64, q: &[f64], next: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for e in 0..self.vol.len() {
            let f = self.grad(next, e);
            let mut pk = self.p(p, e, &f);
            if p.material.damping > 0.0 {
                let [mu, la] = p.material.lame();
                let f0 = self.grad(q, e);
                let d = ((f.transpose() * f) - (f0.transpose() * f0)) * (0.5 / h);
                let s = (2.0 * mu * d + Matrix3::identity() * (la * d.trace())) * p.material.damping;
                pk += f * s;
            }
            let g = pk * self.inv[e].transpose() * self.vol[e];
            let n = &self.body.elements[4 * e..4 * e + 4];
            for a in 0..3 {
                for k in 0..3 {
                    if let Some(d) = self.dofs[n[a + 1] as usize] {
                        out[d as usize + k] -= g[(k, a)];
                    }
                    if let Some(d) = self.dofs[n[0] as usize] {
                        out[d as usize + k] += g[(k, a)];
                    }
                }
            }
        }
    }
    /// k
    pub fn stiffness(&self, p: &SoftParams, h: f64, q: &[f64], next: &[f64], _projected: bool, out: &mut SparseMatrix) {
        let mut t = vec![];
        for e in 0..self.vol.len() {
            let n: Vec<u32> = self.body.elements[4 * e..4 * e + 4].to_vec();
            let f = self.grad(next, e);
            let eps = 1e-6;
            for b in 0..4 {
                let Some(db) = self.dofs[n[b] as usize] else { continue };
                for kb in 0..3 {
                    let row = |s: f64| {
                        let mut df = Matrix3::zeros();
                        if b > 0 {
                            df[(kb, b - 1)] = s;
                        } else {
                            for c in 0..3 {
                                df[(kb, c)] = -s;
                            }
                        }
                        let ff = f + df * self.inv[e];
                        let mut pk = self.p(p, e, &ff);
                        if p.material.damping > 0.0 {
                            let [mu, la] = p.material.lame();
                            let f0 = self.grad(q, e);
                            let d = ((ff.transpose() * ff) - (f0.transpose() * f0)) * (0.5 / h);
                            pk += ff * (2.0 * mu * d + Matrix3::identity() * (la * d.trace())) * p.material.damping;
                        }
                        pk * self.inv[e].transpose() * self.vol[e]
                    };
                    let g = (row(eps * 0.01) - row(-eps * 0.01)) / (2.0 * eps * 0.01);
                    for a in 0..4 {
                        let Some(da) = self.dofs[n[a] as usize] else { continue };
                        for ka in 0..3 {
                            let v = if a > 0 { g[(ka, a - 1)] } else { -(g[(ka, 0)] + g[(ka, 1)] + g[(ka, 2)]) };
                            t.push((da as usize + ka, db as usize + kb, 0.5 * v));
                            t.push((db as usize + kb, da as usize + ka, 0.5 * v));
                        }
                    }
                }
            }
        }
        *out = SparseMatrix::from_triplets(self.n, &t).unwrap();
    }
    /// e
    pub fn energy(&self, _p: &SoftParams, _q: &[f64]) -> f64 {
        0.0
    }
    /// v
    pub fn volume(&self, q: &[f64]) -> f64 {
        (0..self.vol.len()).map(|e| self.vol[e] * self.grad(q, e).determinant()).sum()
    }
}
