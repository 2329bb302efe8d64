import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resources } from "../../src/api/resources.ts";
import { InformerStore } from "../../src/kube/informer/informer-store.ts";
import { isOlder } from "../../src/kube/informer/raw-object.ts";
import type { Change } from "../../src/kube/informer/store.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { runs } from "../support/property-runs.ts";
import { TestClock } from "../support/test-clock.ts";
import type { Raw } from "./raw.ts";
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

/** A view and an informer store of src over the same server. */
class Pair {
  server: Server = serverOf(0, []);
  backup = this.server;
  /** Whether etcd was restored since the last list. */
  isStale = false;
  pending: views.Event[] = [];
  view = views.emptyView;
  readonly changes: unknown[] = [];
  readonly storeChanges: unknown[] = [];
  readonly viewed = views.viewedKind(kind);
  readonly store: InformerStore<string>;

  constructor() {
    const onChange = ({ key, before, after }: Change<string>) =>
      void this.storeChanges.push([key, before, after]);
    this.store = new InformerStore({ ...kind, onChange }, { error: () => {} });
  }

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
      changed: ({ key, before, after }) => void this.changes.push([key, text(before), text(after)]),
    };
  }

  /** Puts the current object into both, as the response of a write. */
  observe(key: string): void {
    const raw = this.object(key);
    if (raw === undefined) return;
    const { resourceVersion } = raw.metadata;
    const isAhead = isOlder(String(this.view.version), resourceVersion);
    views.observe(this.viewing(), raw);
    if (isAhead || isOlder(this.store.entry(key)?.resourceVersion, resourceVersion))
      this.store.take(raw);
  }

  deliver(): void {
    const event = this.pending.shift();
    if (event === undefined) return;
    views.deliver(this.viewing(), event);
    this.store.handle(event);
  }

  async relist(): Promise<void> {
    const objects = views.listed(kind.listOptions, this.server.objects);
    this.pending = [];
    views.relist(this.viewing(), objects, this.server.version);
    const list = this.store.beginList();
    for (const object of objects) list.take({ type: "ADDED", object });
    const resourceVersion = String(this.server.version);
    const yielder = new Yielder(new TestClock());
    await this.store.replaceBy(list, { ...(this.isStale ? {} : { resourceVersion }), yielder });
    this.isStale = false;
  }

  async refresh(key: string): Promise<void> {
    const raw = this.object(key);
    views.refresh(this.viewing(), key, raw);
    await this.store.refresh(key, async () => raw);
  }
}

type Step = (pair: Pair, key: string) => unknown;

const write =
  (labels: object): Step =>
  (pair, key) => {
    const [namespace = "", name = ""] = key.split("/");
    pair.commit(userWrite(pair.server, "secrets", { metadata: { namespace, name, labels } }));
  };
const remove: Step = (pair, key) => {
  const [namespace = "", name = ""] = key.split("/");
  pair.commit(userDelete(pair.server, "secrets", { namespace, name }));
};
const steps: Readonly<Record<string, Step>> = {
  keep: write({ kept: "", left: null, ignored: null }),
  change: write({ kept: "", left: null, ignored: null, count: "1" }),
  leave: write({ kept: "", left: "" }),
  ignore: write({ kept: "", left: null, ignored: "" }),
  delete: remove,
  "own write": (pair, key) => {
    write({ kept: "", left: null, ignored: null, count: null })(pair, key);
    pair.observe(key);
  },
  "own delete": (pair, key) => {
    const uid = pair.object(key)?.metadata.uid;
    remove(pair, key);
    if (uid === undefined) return;
    views.observeDelete(pair.viewing(), key, uid);
    pair.store.observeDelete(key, uid);
  },
  observe: (pair, key) => pair.observe(key),
  "back up": (pair) => {
    pair.backup = pair.server;
  },
  restore: (pair) => {
    pair.server = restored(pair.server, pair.backup);
    [pair.pending, pair.isStale] = [[], true];
  },
  deliver: (pair) => pair.deliver(),
  relist: (pair) => pair.relist(),
  refresh: (pair, key) => pair.refresh(key),
};

describe("a view", () => {
  it("has what the informer store of src has, and reports the same changes", async () => {
    const step = fc.tuple(
      fc.constantFrom(...Object.keys(steps), "deliver"),
      fc.constantFrom("a/x", "a/y"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (taken) => {
        const pair = new Pair();
        for (const [name, key] of taken) {
          await steps[name]?.(pair, key);
          const stored = [...pair.store.objects.values()].toSorted();
          const seen = pair.viewed.storeOf(pair.view);
          expect([...seen.values()].toSorted()).toEqual(stored);
          for (const text of stored)
            expect(seen.keysBy("text", text)).toEqual(pair.store.objects.keysBy("text", text));
          expect(pair.changes).toEqual(pair.storeChanges);
        }
      }),
      runs(2000),
    );
  });

  it("takes the event of an own write for an echo, and no other", () => {
    const pair = new Pair();
    steps["own write"]?.(pair, "a/x");
    expect(pair.pending.map((event) => views.isEcho(pair.view, event))).toEqual([true]);
    steps["change"]?.(pair, "a/x");
    expect(pair.pending.map((event) => views.isEcho(pair.view, event))).toEqual([true, false]);
    pair.deliver();
    pair.deliver();
    steps["own delete"]?.(pair, "a/x");
    expect(pair.pending.map((event) => views.isEcho(pair.view, event))).toEqual([true]);
  });
});
