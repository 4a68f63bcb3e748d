// What a distance costs: the slopes of ALiBi with their weights, and the buckets of T5.
"use strict";
(() => {
  const { axes, colour, panel, path, phrase, significant, tag, text } = bookWidgets.kit;
  const N = 256; // keys of the last query of the text
  const HEADS = 8;
  const SHARE = 0.95;
  const SCHEMES = { alibi: "ALiBi", t5: "T5" };
  const DISTANCES = Array.from({ length: N }, (_, r) => r);
  // Every distance up to 16, then fewer.
  const CHOICES = DISTANCES.filter((r) => r <= 16 || (r <= 64 && r % 4 === 0) || r % 16 === 0 || r === N - 1);
  const start = { "text-anchor": "start" };
  const slopeOf = (j) => 2 ** ((-8 * j) / HEADS);

  // Causal: half of the buckets hold one distance each.
  function bucketOf(r, n_b, r_max) {
    const n_e = Math.floor(n_b / 2);
    if (r < n_e) return r;
    // Distances on a border stay above it when they are rounded.
    const share = Math.log(r / n_e) / Math.log(r_max / n_e);
    return Math.min(n_b - 1, n_e + Math.floor((n_b - n_e) * share + 1e-9));
  }

  function compute({ scheme, j, n_b, r_max, r }) {
    if (scheme === "t5") {
      const buckets = DISTANCES.map((one) => bucketOf(one, n_b, r_max));
      return { buckets, bucket: buckets[r], first: buckets.indexOf(buckets[r]), last: buckets.lastIndexOf(buckets[r]), end: buckets.indexOf(n_b - 1) };
    }
    const slope = slopeOf(j);
    const exps = DISTANCES.map((one) => Math.exp(-slope * one));
    const total = exps.reduce((sum, part) => sum + part, 0);
    const weights = exps.map((part) => part / total);
    let [reach, sum] = [0, 0];
    while (sum < SHARE) sum += weights[reach++];
    return { slope, bias: -slope * r, weights, weight: weights[r], reach };
  }

  const xTicks = [0, 50, 100, 150, 200, 250];
  const frameOf = (y, yTicks, yLabel) =>
    axes({ width: 480, height: 250, x: [0, N - 1], y, xTicks, yTicks, xLabel: phrase`distance |n − m|`, yLabel });
  const shade = (box, from, to, paint) => tag("rect", { x: from, y: box.top, width: Math.max(1, to - from), height: box.bottom - box.top, fill: colour(paint), "fill-opacity": 0.16 });
  const mark = (x, y) => tag("circle", { cx: x, cy: y, r: 6, fill: colour("red") });

  function drawSlopes({ j, r }, { weights, reach, weight }, known) {
    const { x, y, box, drawing } = frameOf([0, 1], [0, 0.5, 1], phrase`weight, as a share of the largest`);
    const curve = (slope) => DISTANCES.map((one) => [x(one), y(Math.exp(-slope * one))]);
    if (!known) return [drawing, phrase`The weights are hidden until you have guessed.`];
    let all = drawing + shade(box, x(0), x(reach - 1), "blue");
    for (let other = 1; other <= HEADS; other++) {
      if (other !== j) all += path(curve(slopeOf(other)), { stroke: colour("grey"), "stroke-opacity": 0.6 });
    }
    all += path(curve(slopeOf(j)), { stroke: colour("blue"), "stroke-width": 3 });
    const inside = reach > 130;
    const place = inside ? [x(reach - 1) - 8, "end"] : [x(reach - 1) + 8, "start"];
    all += text(place[0], box.top + 16, phrase`95% of the weight: ${reach} keys`, { "text-anchor": place[1], class: "on-lines", style: `fill: ${colour("blue")}; font-weight: 600` });
    all += path([[x(r), box.bottom], [x(r), y(weight / weights[0])]], { stroke: colour("red"), "stroke-dasharray": "3 3" });
    all += mark(x(r), y(weight / weights[0]));
    return [all, phrase`ALiBi, head ${j} of 8: the nearest ${reach} of 256 keys have 95% of the weight. At distance ${r} the weight is ${significant(weight)}.`];
  }

  function drawBuckets({ n_b, r }, { buckets, bucket, first, last, end }) {
    const { x, y, box, drawing } = frameOf([0, n_b], [0, n_b / 4, n_b / 2, (3 * n_b) / 4, n_b], phrase`bucket: each has one learned number`);
    const corners = DISTANCES.flatMap((one) => [[x(Math.max(0, one - 0.5)), y(buckets[one])], [x(Math.min(N - 1, one + 0.5)), y(buckets[one])]]);
    let all = drawing + shade(box, x(Math.max(0, first - 0.5)), x(Math.min(N - 1, last + 0.5)), "red");
    all += path(corners, { stroke: colour("blue"), "stroke-width": 3 }) + mark(x(r), y(bucket));
    const words = first === last ? phrase`bucket ${bucket}: distance ${first}` : phrase`bucket ${bucket}: distances ${first} to ${last}`;
    const place = { ...start, class: "on-lines" };
    all += text(x(90), box.bottom - 34, words, { ...place, style: `fill: ${colour("red")}; font-weight: 600` });
    if (end >= 0) all += text(x(90), box.bottom - 12, phrase`from ${end} on: one number for all`, place);
    return [all, `${words}.`];
  }

  bookWidgets.define("distance", {
    title: phrase`what a distance costs`,
    guess: {
      ask: phrase`a query has 256 keys to look at, and all dot products are equal. In ALiBi’s head 1 of 8, with the slope 1/2, how many of the nearest keys get 95% of the weight?`,
      answers: ["6", "60", "240"],
      right: ({ reach }) => [6, 60, 240].indexOf(reach),
      because: ({ reach }) => phrase`It is ${reach}: one step back divides the weight by exp(1/2), so this head is a short window. Head 8, with the slope 1/256, looks far back.`,
    },
    controls: [
      { name: "scheme", label: phrase`Scheme`, value: "alibi", options: Object.entries(SCHEMES) },
      { name: "j", label: phrase`head j, with its slope`, value: 1, min: 1, max: HEADS, show: (j) => `${j}: 1/${2 ** j}`, used: ({ scheme }) => scheme === "alibi" },
      { name: "n_b", label: phrase`n_b, buckets`, value: 32, values: [8, 16, 32, 64], used: ({ scheme }) => scheme === "t5" },
      { name: "r_max", label: phrase`largest distance of the scale`, value: 128, values: [64, 128, 256], used: ({ scheme }) => scheme === "t5" },
      { name: "r", label: phrase`r, distance`, value: 4, values: CHOICES },
    ],
    compute,
    draw(state, result, known) {
      const [drawing, words] = state.scheme === "t5" ? drawBuckets(state, result) : drawSlopes(state, result, known);
      return [panel(480, 250, words, drawing).replace("book-panel", "book-panel wide")];
    },
    numbers: ({ scheme, r }, { slope, bias, weight, reach, bucket, first, last }) =>
      scheme === "t5"
        ? [["bucket", phrase`bucket of distance ${r}`, String(bucket)], ["first", phrase`its first distance`, String(first)], ["last", phrase`its last distance`, String(last)]]
        : [["slope", phrase`slope`, significant(slope)], ["bias", phrase`added to the score at distance ${r}`, significant(bias)], ["weight", phrase`weight there`, significant(weight)], ["reach", phrase`keys with 95% of the weight`, String(reach)]],
  });
})();
