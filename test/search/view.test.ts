import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resources } from "../../src/api/resources.ts";
import { runs } from "../support/property-runs.ts";
import type { Raw } from "../specification/raw.ts";
import { type Handled, restored, type Server, serverOf, userDelete, userWrite } from "./server.ts";
import * as views from "./view.ts";

const kind = {
  listOptions: { resource: resources.secrets, labelSelector: "kept,!left" },
  // Not every selected object is stored.
  parse: (raw: unknown) =>
    JSON.stringify(raw).includes("ignored") ? undefined : JSON.stringify(raw),
  indexers: { text: (text: string) => [text] },
  enqueue: () => {},
};

/** A view of a server, whose events arrive later. */
class Watched {
  server: Server = serverOf(0, []);
  backup = this.server;
  /** Whether etcd was restored since the last list. */
  isStale = false;
  pending: views.Event[] = [];
  view = views.emptyView;
  /** What the reported changes add up to. */
  readonly reported = new Map<string, string>();
  readonly viewed = views.viewedKind(kind);

  /** Commits a change; its event is still to arrive. */
  commit({ server, change }: Handled): void {
    this.server = server;
    const event = change && views.eventOf(kind.listOptions, change);
    if (event !== undefined) this.pending.push(event);
  }

  object(key: string): Raw | undefined {
    return this.server.objects.get(`secrets/${key}`);
  }

  viewing(): views.Viewing {
    const text = (seen: views.Seen | undefined) => seen && JSON.stringify(seen.raw);
    const [get, set] = [() => this.view, (view: views.View) => void (this.view = view)];
    return {
      kind: this.viewed.kind,
      get view() {
        return get();
      },
      set view(view) {
        set(view);
      },
      changed: ({ key, before, after }) => {
        if (this.reported.get(key) !== text(before))
          throw new Error(`${key} changed from another state`);
        if (after === undefined) this.reported.delete(key);
        else this.reported.set(key, JSON.stringify(after.raw));
      },
    };
  }

  /** Puts the current object into the view, as the response of a write. */
  observe(key: string): void {
    const raw = this.object(key);
    if (raw !== undefined) views.observe(this.viewing(), raw);
  }

  deliver(): void {
    const event = this.pending.shift();
    if (event !== undefined) views.deliver(this.viewing(), event);
  }

  relist(): void {
    [this.pending, this.isStale] = [[], false];
    views.relist(this.viewing(), this.selected(), this.server.version);
  }

  refresh(key: string): void {
    views.refresh(this.viewing(), key, this.object(key));
  }

  selected(): readonly Raw[] {
    return views.listed(kind.listOptions, this.server.objects);
  }
}

type Step = (watched: Watched, key: string) => unknown;

const write =
  (labels: object): Step =>
  (watched, key) => {
    const [namespace = "", name = ""] = key.split("/");
    watched.commit(userWrite(watched.server, "secrets", { metadata: { namespace, name, labels } }));
  };
const remove: Step = (watched, key) => {
  const [namespace = "", name = ""] = key.split("/");
  watched.commit(userDelete(watched.server, "secrets", { namespace, name }));
};
const steps: Readonly<Record<string, Step>> = {
  keep: write({ kept: "", left: null, ignored: null }),
  change: write({ kept: "", left: null, ignored: null, count: "1" }),
  leave: write({ kept: "", left: "" }),
  ignore: write({ kept: "", left: null, ignored: "" }),
  delete: remove,
  "own write": (watched, key) => {
    write({ kept: "", left: null, ignored: null, count: null })(watched, key);
    watched.observe(key);
  },
  "own delete": (watched, key) => {
    const uid = watched.object(key)?.metadata.uid;
    remove(watched, key);
    if (uid !== undefined) views.observeDelete(watched.viewing(), key, uid);
  },
  observe: (watched, key) => watched.observe(key),
  "back up": (watched) => {
    watched.backup = watched.server;
  },
  restore: (watched) => {
    watched.server = restored(watched.server, watched.backup);
    // Another restore of the same backup would give the same versions again.
    watched.backup = watched.server;
    [watched.pending, watched.isStale] = [[], true];
  },
  deliver: (watched) => watched.deliver(),
  relist: (watched) => watched.relist(),
  refresh: (watched, key) => watched.refresh(key),
};

describe("a view", () => {
  it("has what the server has, as soon as all events or a list have arrived", () => {
    const step = fc.tuple(
      fc.constantFrom(...Object.keys(steps), "deliver"),
      fc.constantFrom("a/x", "a/y"),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (taken) => {
        const watched = new Watched();
        for (const [name, key] of taken) steps[name]?.(watched, key);
        if (watched.isStale) watched.relist();
        while (watched.pending.length > 0) watched.deliver();
        const existing = watched.selected().flatMap((raw) => kind.parse(raw) ?? []);
        expect(watched.view.removals.size).toBe(0);
        const store = watched.viewed.storeOf(watched.view);
        expect([...store.values()].toSorted()).toEqual(existing.toSorted());
        expect([...watched.reported.values()].toSorted()).toEqual(existing.toSorted());
        for (const text of existing) expect(store.keysBy("text", text)).toHaveLength(1);
      }),
      runs(2000),
    );
  });

  type Taken = readonly (readonly [name: string, key: string])[];

  /** The versions that were shown after a newer one of the same object. */
  function wentBack(taken: Taken): readonly string[] {
    const [watched, newest] = [new Watched(), new Map<string, number>()];
    return taken.flatMap(([name, key]) => {
      steps[name]?.(watched, key);
      return [...watched.view.entries.values()].flatMap(({ uid, resourceVersion }) => {
        const before = newest.get(uid) ?? 0;
        newest.set(uid, Number(resourceVersion));
        return Number(resourceVersion) < before ? [`${name}: ${resourceVersion} of ${uid}`] : [];
      });
    });
  }

  it.each([
    "keep, leave, own write, ignore, observe, deliver, deliver, deliver, deliver",
    "keep, leave, own write, change, observe, own delete, deliver, deliver, deliver",
    "keep, change, observe, delete, ignore, observe, deliver",
    "keep, change, observe, own delete, ignore, observe, deliver",
  ])("does not go back: %s", (names) => {
    expect(wentBack(names.split(", ").map((name) => [name, "a/x"]))).toEqual([]);
  });

  it("never goes back to an older version of an object, except after a restore", () => {
    const step = fc.tuple(
      fc.constantFrom(...Object.keys(steps).filter((name) => !name.startsWith("re")), "deliver"),
      fc.constantFrom("a/x", "a/y"),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (taken) => {
        expect(wentBack(taken)).toEqual([]);
      }),
      runs(500),
    );
  });

  it("takes the event of an own write for an echo, and no other", () => {
    const watched = new Watched();
    steps["own write"]?.(watched, "a/x");
    expect(watched.pending.map((event) => views.isEcho(watched.view, event))).toEqual([true]);
    steps["change"]?.(watched, "a/x");
    expect(watched.pending.map((event) => views.isEcho(watched.view, event))).toEqual([
      true,
      false,
    ]);
    watched.deliver();
    watched.deliver();
    steps["own delete"]?.(watched, "a/x");
    expect(watched.pending.map((event) => views.isEcho(watched.view, event))).toEqual([true]);
  });
});
