import { join } from "node:path";
import { stringAt, stringsAt } from "../../src/api/parse.ts";
import { buildModule, type GoModule } from "./go-module.ts";
import { startLineProgram } from "./line-program.ts";

/** A chart with what decides its objects. */
export interface RenderedChart {
  /** The path of its directory or archive. */
  readonly chart: string;
  readonly values: object;
  readonly namespace: string;
  /** The version of Kubernetes, such as v1.37.2. */
  readonly version: string;
}

/** Helm's own loader, schema validation, engine and lint, without the rest of Helm. */
export interface ChartRenderer {
  /** The YAML that `helm template` prints, or its error. */
  render(chart: RenderedChart): Promise<{ readonly manifests: string; readonly error?: string }>;
  /** What `helm lint --strict` fails on. */
  lint(chart: RenderedChart): Promise<readonly string[]>;
  stop(): void;
}

/** The program that renders. */
export const rendererModule: GoModule = {
  directory: join(import.meta.dirname, "chart-renderer"),
  name: "chart renderer",
  takes: "1 minute",
  packages: ".",
};

/** The path of the program, which is built if necessary. */
export async function chartRenderer(report: (line: string) => void): Promise<string> {
  return join(await buildModule(rendererModule, { report }), "chart-renderer");
}

/** Starts the renderer, and builds it if necessary. */
export async function startChartRenderer(report: (line: string) => void): Promise<ChartRenderer> {
  const program = startLineProgram([await chartRenderer(report)]);
  const ask = async (question: object): Promise<unknown> => (await program.ask([question]))[0];
  return {
    async render(chart) {
      const answer = await ask(chart);
      const error = stringAt(answer, "error");
      const manifests = stringAt(answer, "manifests") ?? "";
      return error === undefined ? { manifests } : { manifests, error };
    },
    lint: async (chart) => stringsAt(await ask({ ...chart, lint: true }), "messages"),
    stop: () => program.stop(),
  };
}
