// Residuals of the last steps as curves on a logarithmic scale, one a solver; a gap is where solvers were switched.

const COLOURS = ["#1f77b4", "#d62728"];
// Powers of ten at the lower and the upper edge, N s.
const [LOWEST, HIGHEST] = [-16, 2];

export function drawHistory(canvas, rows, names) {
  const context = canvas.getContext("2d");
  const { width, height } = canvas;
  const y = (power) => height * (1 - (power - LOWEST) / (HIGHEST - LOWEST));
  context.clearRect(0, 0, width, height);
  context.font = "20px sans-serif";
  context.lineWidth = 2.5;
  for (const power of [-12, -8, -4, 0]) {
    context.fillStyle = "#999";
    context.fillRect(0, y(power), width, 1);
    context.fillText(`1e${power} N s`, 4, y(power) - 4);
  }
  const steps = Math.max(rows.length / 2, 300);
  names.slice(0, 2).forEach((name, solver) => {
    context.strokeStyle = context.fillStyle = COLOURS[solver];
    context.fillText(name, width - 120, 22 + 22 * solver);
    context.beginPath();
    let joined = false;
    for (let i = solver; i < rows.length; i += 2) {
      const residual = rows[i];
      if (Number.isNaN(residual)) {
        joined = false;
        continue;
      }
      const at = [((i >> 1) / steps) * width, y(Math.log10(Math.max(residual, 10 ** LOWEST)))];
      if (joined) context.lineTo(...at);
      else context.moveTo(...at);
      joined = true;
    }
    context.stroke();
  });
}
