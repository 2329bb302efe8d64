import { setTimeout as pause } from "node:timers/promises";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { type Action, create, merge, remove, requesters, type Step } from "../support/actions.ts";
import type { ProcessRun } from "./process-backend.ts";
import type { View } from "../support/visible-objects.ts";

const api = `/apis/${apiVersion}`;
const everyMs = 60;
const names = ["s0", "s1", "s2", "s3"];

/** The data of a SharedSecret, and so of its copies, that contains only this text. */
export function dataOf(text: string) {
  return { password: Buffer.from(text).toString("base64") };
}

/**
 * An endless stream of changes, and a last one after which the state does not depend on earlier
 * changes.
 */
export class ChangeStream {
  readonly #run: ProcessRun;
  readonly #view: View;
  #playing: Promise<void> | undefined;
  #isOver = false;

  constructor(run: ProcessRun, view: View) {
    this.#run = run;
    this.#view = view;
  }

  /** Creates the objects that the changes change. */
  async prepare(): Promise<void> {
    const { prefix } = this.#view;
    const namespace = (name: string) =>
      create("/api/v1/namespaces", {
        metadata: { name: `${prefix}${name}`, annotations: { [annotations.sync]: "enabled" } },
      });
    const sharedSecret = (name: string) =>
      create(`${api}/namespaces/${prefix}home/sharedsecrets`, {
        apiVersion,
        kind: "SharedSecret",
        metadata: { name, annotations: { [annotations.syncToProjects]: `${prefix}all` } },
        spec: { data: dataOf("first") },
      });
    await this.#perform(["home", "web", "pay"].map(namespace));
    await this.#perform([
      this.#inProject("web", true),
      this.#inProject("pay", true),
      ...[...names, "mark"].map(sharedSecret),
    ]);
  }

  begin(): void {
    this.#isOver = false;
    this.#playing ??= this.#play();
  }

  /** Writes a text into the SharedSecret that the stream does not change. */
  async mark(text: string): Promise<void> {
    await this.#perform([this.#edit("mark", { data: dataOf(text) })]);
  }

  /** Stops the changes. */
  async halt(): Promise<void> {
    this.#isOver = true;
    await this.#playing;
    this.#playing = undefined;
  }

  /** Stops the changes and makes the last ones. */
  async end(): Promise<void> {
    await this.halt();
    await this.mark("last");
    await this.#perform([
      this.#inProject("web", true),
      this.#inProject("pay", true),
      ...names.map((name) => this.#edit(name, { data: dataOf("last"), access: readers("carol") })),
    ]);
    await this.#perform(["t0", "t1"].map((name) => remove(this.#token(name))));
    await this.#perform(
      ["t0", "t1"].map((name) => ({ method: "GET", path: this.#token(name), until: [404] })),
    );
    await this.#perform(["t0", "t1"].map((name) => this.#mint(name, [201])));
  }

  async #play(): Promise<void> {
    for (let round = 0; !this.#isOver; round += 1) {
      await this.#perform(this.#step(round));
      await pause(everyMs);
    }
  }

  #step(round: number): Step {
    const [one = "", other = ""] = [names[round % names.length], names[(round + 1) % names.length]];
    const token = `t${Math.floor(round / 8) % 2}`;
    return [
      this.#edit(one, { data: dataOf(`round ${round}`) }),
      ...(round % 4 === 0
        ? [this.#edit(other, { access: readers(round % 8 === 0 ? "dave" : "carol") })]
        : []),
      ...(round % 10 === 0 ? [this.#inProject("pay", round % 20 === 0)] : []),
      ...(round % 8 === 0 ? [this.#mint(token, [201, 409])] : []),
      ...(round % 8 === 4 ? [remove(this.#token(token))] : []),
    ];
  }

  async #perform(step: Step): Promise<void> {
    await this.#run.perform(step);
  }

  #edit(name: string, spec: object): Action {
    return merge(`${api}/namespaces/${this.#view.prefix}home/sharedsecrets/${name}`, { spec });
  }

  #inProject(name: string, isInside: boolean): Action {
    const { prefix } = this.#view;
    return merge(`/api/v1/namespaces/${prefix}${name}`, {
      metadata: { labels: { [labels.project]: isInside ? `${prefix}all` : null } },
    });
  }

  #token(name: string): string {
    return `${api}/directclusterendpointtokens/${this.#view.prefix}${name}`;
  }

  #mint(name: string, until: readonly number[]): Action {
    const { prefix } = this.#view;
    const body = {
      apiVersion,
      kind: "DirectClusterEndpointToken",
      metadata: { name: `${prefix}${name}` },
      spec: { ttl: 3600 },
    };
    return {
      ...create(`${api}/directclusterendpointtokens`, body),
      by: { user: `${prefix}alice`, groups: [requesters] },
      until,
    };
  }
}

function readers(user: string) {
  return [{ name: "readers", verbs: ["get"], users: [user] }];
}
