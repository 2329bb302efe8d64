/** The amounts that are measured; all numbers count objects unless noted. */
export interface Size {
  readonly name: "tiny" | "small" | "full";
  /** Fan-outs to this many namespaces, and how often each is repeated: the median counts. */
  readonly fanOuts: readonly { readonly targets: number; readonly rounds: number }[];
  /** Repairs, grants, revocations and tokens that are timed one by one. */
  readonly samples: number;
  readonly newcomers: { readonly atLeast: number; readonly beside: number };
  readonly many: { readonly sources: number; readonly targets: number; readonly foreign: number };
  /** SharedSecrets, each with a copy in as many namespaces, in the informers alone. */
  readonly memory: { readonly sources: number; readonly targets: number };
  /** The same, and keys, while the metrics are scraped. */
  readonly metrics: { readonly sources: number; readonly targets: number; readonly keys: number };
  /**
   * Copies of one big SharedSecret each, and big SharedSecrets that are not synced; kilobytes of
   * data before base64.
   */
  readonly big: {
    readonly fanOuts: readonly { readonly targets: number; readonly kilobytes: number }[];
    readonly unsynced: { readonly count: number; readonly kilobytes: number };
  };
  /** SharedSecrets that are shared with as many connected clusters. */
  readonly clusters: { readonly sources: number; readonly clusters: number };
  /** Requests through the gateway at each concurrency, open watches, and keys and tokens. */
  readonly gateway: {
    readonly small: number;
    readonly lists: number;
    readonly watches: readonly number[];
    readonly credentials: number;
  };
  /** Keys, and tokens, of each stage of admission in each round. */
  readonly admission: { readonly rounds: number; readonly count: number };
  readonly idleSeconds: number;
  readonly tokens: number;
  readonly keys: {
    readonly lasting: number;
    readonly expiring: number;
    readonly withinSeconds: number;
    readonly together: number;
    readonly requesters: number;
    readonly reviews: number;
  };
}

const fanOut = (rounds: number, targets: number) => ({ rounds, targets });
const copiesOf = (kilobytes: number, targets: number) => ({ kilobytes, targets });

const tiny: Size = {
  name: "tiny",
  fanOuts: [fanOut(3, 50), fanOut(3, 200)],
  samples: 20,
  newcomers: { atLeast: 10, beside: 500 },
  many: { sources: 50, targets: 4, foreign: 100 },
  memory: { sources: 100, targets: 10 },
  metrics: { sources: 100, targets: 10, keys: 1000 },
  big: {
    fanOuts: [copiesOf(220, 20), copiesOf(900, 20)],
    unsynced: { count: 10, kilobytes: 1000 },
  },
  clusters: { sources: 50, clusters: 5 },
  gateway: { small: 300, lists: 60, watches: [50], credentials: 5 },
  admission: { rounds: 1, count: 60 },
  idleSeconds: 10,
  tokens: 100,
  keys: {
    lasting: 90,
    requesters: 2,
    reviews: 400,
    expiring: 10,
    withinSeconds: 5,
    together: 100,
  },
};

const small: Size = {
  name: "small",
  fanOuts: [fanOut(5, 200), fanOut(3, 1000)],
  samples: 100,
  newcomers: { atLeast: 60, beside: 5000 },
  many: { sources: 500, targets: 10, foreign: 2500 },
  memory: { sources: 1000, targets: 50 },
  metrics: { sources: 1000, targets: 10, keys: 10_000 },
  big: {
    fanOuts: [copiesOf(220, 100), copiesOf(900, 100)],
    unsynced: { count: 50, kilobytes: 1000 },
  },
  clusters: { sources: 500, clusters: 20 },
  gateway: { small: 3000, lists: 300, watches: [200, 2000], credentials: 50 },
  admission: { rounds: 3, count: 150 },
  idleSeconds: 30,
  tokens: 1000,
  keys: {
    lasting: 1950,
    requesters: 10,
    reviews: 10_000,
    expiring: 50,
    withinSeconds: 15,
    together: 1000,
  },
};

const full: Size = {
  name: "full",
  fanOuts: [fanOut(10, 200), fanOut(5, 1000)],
  samples: 500,
  newcomers: { atLeast: 200, beside: 5000 },
  many: { sources: 10_000, targets: 10, foreign: 50_000 },
  memory: { sources: 10_000, targets: 50 },
  metrics: { sources: 10_000, targets: 10, keys: 100_000 },
  big: {
    fanOuts: [copiesOf(220, 500), copiesOf(900, 600)],
    unsynced: { count: 300, kilobytes: 1000 },
  },
  clusters: { sources: 2000, clusters: 20 },
  gateway: { small: 15_000, lists: 1500, watches: [200, 2000], credentials: 100 },
  admission: { rounds: 8, count: 240 },
  idleSeconds: 30,
  tokens: 1000,
  keys: {
    lasting: 99_000,
    requesters: 100,
    reviews: 40_000,
    expiring: 1000,
    withinSeconds: 60,
    together: 1000,
  },
};

const sizes: readonly Size[] = [tiny, small, full];

/** The size of this name, small if undefined; throws for another name. */
export function sizeNamed(name: string | undefined): Size {
  const found = sizes.find((size) => size.name === (name || "small"));
  if (found === undefined)
    throw new Error(`SIZE is "${name}": it must be ${sizes.map((size) => size.name).join(", ")}`);
  return found;
}
