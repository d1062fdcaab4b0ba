"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { thresholds, panels, figures, area } = data;
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";

  for (const part of document.querySelectorAll("[data-js]")) part.hidden = false;

  // Numbers come rounded; a dash stands for one that does not exist.
  const text = (value) => (value === null || value === undefined ? "–" : String(value));
  const rounded = (value) =>
    Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)));
  const percent = (share) => {
    const value = 100 * share;
    return value.toFixed(Math.abs(value) >= 10 || value === 0 ? 1 : 2) + " %";
  };

  // -- places in a picture -------------------------------------------------------------------
  const place = (figure, value) => {
    const at = figure.log ? Math.log10(value) : value;
    return area.left + area.width * ((at - figure.low) / (figure.high - figure.low));
  };
  const shape = (svg, name, kind) => {
    const element = document.createElementNS(SVG, name);
    element.setAttribute("class", kind);
    element.setAttribute("visibility", "hidden");
    svg.append(element);
    return element;
  };
  const upright = (line, x) => {
    const inside = Number.isFinite(x) && x >= area.left - 1 && x <= area.left + area.width + 1;
    line.setAttribute("visibility", inside ? "visible" : "hidden");
    if (!inside) return;
    for (const name of ["x1", "x2"]) line.setAttribute(name, x.toFixed(2));
    line.setAttribute("y1", area.top);
    line.setAttribute("y2", area.top + area.height);
  };

  // -- read-outs: a slider under each figure, and the pointer over it -----------------------
  for (const [id, figure] of Object.entries(figures)) {
    const input = byId("read-" + id);
    if (!input) continue;
    const svg = byId("figure-" + id).querySelector("svg");
    const output = byId("out-" + id);
    const line = shape(svg, "line", "cross");
    const xs = figure.columns[figure.x];
    const show = (visible) => {
      const k = Number(input.value);
      const words = figure.names.map((name, c) => `${name}: ${text(figure.columns[c][k])}`).join(", ");
      output.textContent = words;
      input.setAttribute("aria-valuetext", words);
      if (visible) upright(line, place(figure, xs[k]));
    };
    const follow = (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      let best = 0;
      let distance = Infinity;
      xs.forEach((value, k) => {
        const away = value === null ? Infinity : Math.abs(place(figure, value) - x);
        if (away < distance) [best, distance] = [k, away];
      });
      input.value = best;
      show(true);
    };
    input.addEventListener("input", () => show(true));
    svg.addEventListener("pointermove", follow);
    svg.addEventListener("pointerdown", follow);
    show(false);
  }

  // -- several classes: one is looked at, the others wait ------------------------------------
  const picker = byId("class-picker");
  const pick = () => {
    for (const part of document.querySelectorAll(".panel[data-class]")) {
      part.hidden = part.dataset.class !== picker.value;
    }
  };
  if (picker) {
    picker.addEventListener("change", pick);
    pick();
  }

  // -- the threshold ------------------------------------------------------------------------
  const counts = (model, k) => {
    const [negatives, positives] = model.totals;
    const [fp, tp] = [model.negatives[k], model.positives[k]];
    return { tp, fp, fn: positives - tp, tn: negatives - fp };
  };
  const share = (part, whole) => (whole > 0 ? percent(part / whole) : "–");
  // The cost: 1, 1.2, 1.5, ... times 10 to some power, and one over these.
  const STEPS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
  const ratioOf = (position) => {
    const k = Math.abs(position - 30);
    const ratio = Number((STEPS[k % 10] * 10 ** Math.floor(k / 10)).toPrecision(2));
    return position >= 30 ? { value: ratio, label: String(ratio) } : { value: 1 / ratio, label: "1/" + ratio };
  };
  const cost = (model, k, ratio) => {
    const { fp, fn } = counts(model, k);
    return fp + ratio * fn;
  };
  for (const { suffix, models } of panels) control(suffix, models);

  // The sliders of one place: the figures and matrices whose names end as theirs do.
  function control(suffix, models) {
    const slider = byId("threshold-slider" + suffix);
    const costSlider = byId("cost-slider" + suffix);
    const markers = [];
    for (const [id, figure] of Object.entries(figures)) {
      if (!figure.marker || figure.suffix !== suffix) continue;
      const svg = byId("figure-" + id).querySelector("svg");
      if (figure.marker === "line") {
        const line = shape(svg, "line", "mark");
        markers.push((k) => upright(line, place(figure, thresholds[k])));
      } else {
        models.forEach((model) => {
          const dot = shape(svg, "circle", "mark");
          dot.setAttribute("r", 4);
          markers.push((k) => {
            const { tp, fp } = counts(model, k);
            dot.setAttribute("cx", area.left + (area.width * fp) / model.totals[0]);
            dot.setAttribute("cy", area.top + area.height * (1 - tp / model.totals[1]));
            dot.setAttribute("visibility", "visible");
          });
        });
      }
    }
    const showThreshold = () => {
      const k = Number(slider.value);
      byId("threshold-value" + suffix).textContent = String(thresholds[k]);
      slider.setAttribute("aria-valuetext", "threshold " + thresholds[k]);
      for (const model of models) {
        const matrix = byId("matrix-" + model.letter + suffix);
        const c = counts(model, k);
        for (const cell of matrix.querySelectorAll("[data-cell]")) {
          cell.textContent = rounded(c[cell.dataset.cell]);
        }
        matrix.querySelector(".at").textContent = String(thresholds[k]);
        const all = c.tp + c.fp + c.fn + c.tn;
        byId("rates-" + model.letter + suffix).textContent =
          `Precision ${share(c.tp, c.tp + c.fp)}, recall ${share(c.tp, c.tp + c.fn)}, ` +
          `specificity ${share(c.tn, c.tn + c.fp)}, accuracy ${share(c.tp + c.tn, all)}; ` +
          `${share(c.tp + c.fp, all)} of the rows are called positive.`;
      }
      for (const move of markers) move(k);
    };

    const showCost = () => {
      const { value: ratio, label } = ratioOf(Number(costSlider.value));
      const ideal = 1 / (1 + ratio);
      byId("cost-value" + suffix).textContent = label;
      costSlider.setAttribute("aria-valuetext", `a miss costs ${label} false alarms`);
      const model = models[0];
      let best = 0;
      thresholds.forEach((t, k) => {
        const [now, least] = [cost(model, k, ratio), cost(model, best, ratio)];
        const close = Math.abs(t - ideal) < Math.abs(thresholds[best] - ideal);
        const same = Math.abs(now - least) <= 1e-9 * Math.max(now, least);
        if (same ? close : now < least) best = k;
      });
      slider.value = best;
      showThreshold();
      const all = model.totals[0] + model.totals[1];
      byId("cost-words" + suffix).textContent =
        `A miss costs ${label} false alarms: calibrated probabilities are best cut at ` +
        `${Number(ideal.toPrecision(3))}; least cost on these data at ${thresholds[best]}, ` +
        `${rounded(cost(model, best, ratio) / all)} false alarms a row.`;
    };
    slider.addEventListener("input", showThreshold);
    costSlider.addEventListener("input", showCost);
    byId("cost-value" + suffix).textContent = ratioOf(Number(costSlider.value)).label;
    showThreshold();
  }
})();
