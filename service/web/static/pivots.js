// Owns where the nodes of a large graph go that has no coordinates: Pivot MDS (Brandes and Pich, 2006). As far apart on the
// page as they are on the ways, as seen from a few of them. Pure and repeatable, in a time that grows with the edges.

const PIVOTS = 16;

/** Puts node ids at {x, y} by their edges {a, b}, each edge about `apart` long; answers id -> place. */
export function spread(ids, edges, apart) {
  const beside = new Map(ids.map((id) => [id, []]));
  for (const { a, b } of edges) beside.get(a).push(b), beside.get(b).push(a);
  const rows = distances(ids, beside);
  const [x, y] = axes(centred(rows));
  const places = new Map(ids.map((id, index) => [id, { x: x[index], y: y[index] }]));
  const far = edges.map(({ a, b }) => Math.hypot(places.get(a).x - places.get(b).x, places.get(a).y - places.get(b).y));
  const usual = far.sort((one, other) => one - other)[far.length >> 1] || 1;
  for (const place of places.values()) Object.assign(place, { x: (place.x * apart) / usual, y: (place.y * apart) / usual });
  return places;
}

/** How many edges each node is from each pivot; the next pivot is the node that is furthest from those there are. */
function distances(ids, beside) {
  const rows = ids.map(() => []);
  const nearest = ids.map(() => Infinity);
  let pivot = 0;
  for (let round = 0; round < Math.min(PIVOTS, ids.length); round++) {
    const seen = from(ids[pivot], beside);
    ids.forEach((id, index) => {
      rows[index].push(seen.get(id) ?? ids.length);
      nearest[index] = Math.min(nearest[index], rows[index][round]);
    });
    pivot = nearest.indexOf(Math.max(...nearest));
  }
  return rows;
}

function from(start, beside) {
  const seen = new Map([[start, 0]]);
  for (const id of seen.keys()) {
    for (const next of beside.get(id)) if (!seen.has(next)) seen.set(next, seen.get(id) + 1);
  }
  return seen;
}

function centred(rows) {
  const squares = rows.map((row) => row.map((one) => one * one));
  const mean = (all) => all.reduce((sum, one) => sum + one, 0) / all.length;
  const columns = squares[0].map((_, column) => mean(squares.map((row) => row[column])));
  const whole = mean(columns);
  return squares.map((row) => {
    const own = mean(row);
    return row.map((one, column) => -(one - own - columns[column] + whole) / 2);
  });
}

/** The two directions in which they are spread most, by power iteration, and where each node lies on them. */
function axes(rows) {
  const width = rows[0].length;
  const product = Array.from({ length: width }, (_, i) => Array.from({ length: width }, (_, j) => rows.reduce((sum, row) => sum + row[i] * row[j], 0)));
  const found = [];
  for (let axis = 0; axis < 2; axis++) {
    let vector = Array.from({ length: width }, (_, index) => 1 + ((index * 7 + axis * 3) % 5));
    for (let round = 0; round < 80; round++) {
      for (const other of found) {
        const along = vector.reduce((sum, one, index) => sum + one * other[index], 0);
        vector = vector.map((one, index) => one - along * other[index]);
      }
      vector = product.map((row) => row.reduce((sum, one, index) => sum + one * vector[index], 0));
      const long = Math.hypot(...vector) || 1;
      vector = vector.map((one) => one / long);
    }
    found.push(vector);
  }
  return found.map((vector) => rows.map((row) => row.reduce((sum, one, index) => sum + one * vector[index], 0)));
}
