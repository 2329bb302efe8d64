import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium as playwright } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import { connectedCluster } from "../dev/dev-directory.ts";
import { applySamples } from "../dev/dev-samples.ts";
import { findChromium } from "../support/chromium.ts";
import { present } from "../support/prepared.ts";
import { skippedWithout } from "../support/skipped.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { type DocBlock, hasCommands, stepsOf } from "../support/doc-blocks.ts";
import { docPages, isRun, prerequisites } from "../dev/doc-pages.ts";
import { repository } from "../support/install.ts";
import { kubectl } from "../support/kubectl.ts";
import { type DevProcess, startDev } from "./dev-process.ts";
import { surprises } from "./page-shell.ts";

/** The key of the agent of the connected cluster, which runs for all pages. */
const agentKey = outboxNamespace(connectedCluster);

/** Kinds of which a page may leave objects, which would change the next page. */
const kinds = ["namespaces", "clusterroles", "clusterrolebindings"];

describe.skipIf(!hasDedicatedClusters)("the blocks of a page, pasted in their order, on", () => {
  let dev: DevProcess;
  let initial: ReadonlySet<string>;
  const ask = (args: readonly string[]): Promise<string> => kubectl(dev.access, [...args]);
  const objects = async (): Promise<readonly string[]> =>
    (await ask(["get", kinds.join(), "--selector=!app.kubernetes.io/managed-by", "-o", "name"]))
      .trim()
      .split("\n");

  beforeAll(async () => {
    dev = await startDev();
    initial = new Set(await objects());
  });
  afterAll(() => dev?.remove());

  /** Each page begins with the samples alone. */
  beforeEach(async () => {
    await ask(["delete", "sharedsecrets", "--all", "--all-namespaces"]);
    await ask(["delete", "ownedaccesskeys", `--field-selector=metadata.name!=${agentKey}`]);
    await ask(["delete", "directclusterendpointtokens", "--all"]);
    const made = (await objects()).filter((name) => !initial.has(name));
    if (made.length > 0) await ask(["delete", "--ignore-not-found", ...made]);
    const connects = ["--namespace=latchkey-clusters", "--overwrite", "secret", connectedCluster];
    await ask(["annotate", ...connects, `${annotations.projects}=web`]);
    await applySamples(dev.access);
  });

  const pages = docPages().filter(({ path, blocks }) =>
    blocks.some((block) => hasCommands(block) && isRun(path, block)),
  );

  it.each(pages)("$path", async ({ path, blocks }) => {
    const directory = pageDirectory(dev, blocks);
    const before = stepsOf({ language: "sh", text: `. .dev/env\n${prerequisites[path] ?? ""}` });
    const own = blocks.filter((block) => hasCommands(block) && isRun(path, block)).flatMap(stepsOf);
    expect(await surprises([...before, ...own], directory)).toEqual([]);
  });

  const chromium = findChromium();
  it("docs/images/status.png and terminal.png", skippedWithout(chromium), async () => {
    const directory = pageDirectory(dev, []);
    expect(await surprises(stepsOf({ language: "sh", text: conflict }), directory)).toEqual([]);
    const serve = join(dev.directory, "bin", "kubectl-latchkey");
    const env = { ...process.env, KUBECONFIG: dev.variable("KUBECONFIG") };
    const status = spawn(serve, ["status", "-A", "--serve"], { env, stdio: "pipe" });
    const browser = await playwright.launch({
      executablePath: present(chromium),
      args: ["--no-sandbox"],
    });
    try {
      const [url] = await once(status.stdout.setEncoding("utf8"), "data");
      const viewport = { width: 960, height: 640 };
      const page = await browser.newPage({ viewport, colorScheme: "light" });
      await page.goto(String(url).trim());
      for (const text of shown) await page.getByText(text, { exact: true }).first().waitFor();
      const images = process.env.LATCHKEY_IMAGES;
      const pathOf = (name: string) => ({ path: join(images ?? directory, name) });
      await page.screenshot({ ...pathOf("status.png"), fullPage: true });
      const transcript = stepsOf({ language: "sh", text: terminal });
      expect(await surprises(transcript, directory)).toEqual([]);
      const text = readFileSync(join(directory, "screen"), "utf8");
      expect(text).toContain("PROBLEM");
      // The status page lets no script write markup.
      const screen = await browser.newPage({ viewport: { width: 1040, height: 640 } });
      await screen.setContent(terminalPage(text));
      await screen.locator("pre").screenshot(pathOf("terminal.png"));
    } finally {
      await browser.close();
      status.kill();
    }
  });
});

/** A Secret in the way of a copy, and a key that ends soon. */
const conflict = `. .dev/env
kubectl create namespace web-test
kubectl -n web-test create secret generic registry
kubectl label namespace web-test management.service/project=web
kubectl annotate namespace web-test management.service/sync=enabled
kubectl -n web-test wait secret/database --for=create
kubectl -n team-a wait shsec/registry --for=condition=Synced=False
kubectl latchkey keys create nightly --user=alice --ttl=3d`;

/** What the picture of docs/status-page.md shows of it. */
const shown = [
  "Orders database",
  "Login of the image registry",
  "2 of 3 targets synced, 1 conflict",
  "web-test/registry",
  "nightly",
];

const typed = [
  "kubectl get shsec --all-namespaces",
  "kubectl latchkey why secret/registry -n web-test",
  "kubectl latchkey status --all-namespaces",
];

/** Writes what a person types and sees to the file `screen`. */
const terminal = [
  ". .dev/env",
  ...typed.map((command) => `{ echo '$ ${command}'; ${command} 2>&1 || true; } >> screen`),
].join("\n");

/** A terminal with a text, as a page. */
function terminalPage(text: string): string {
  const shownText = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const style =
    "display: inline-block; margin: 0; padding: 16px; background: #1b1f24; color: #e6e6e6; " +
    "font: 13px/1.4 'DejaVu Sans Mono', monospace; white-space: pre-wrap; max-width: 1000px";
  return `<!doctype html><body style="margin: 0"><pre style="${style}">${shownText}</pre>`;
}

/** A directory with the files of the repository, `.dev`, and the manifests of a page by their name. */
function pageDirectory({ directory }: DevProcess, blocks: readonly DocBlock[]): string {
  const page = mkdtempSync(join(directory, "page-"));
  for (const name of ["config", "crds", "docs"])
    symlinkSync(join(repository, name), join(page, name));
  symlinkSync(directory, join(page, ".dev"));
  for (const { language, text } of blocks) {
    const name = /^kind: .*^ {2}name: (\S+)$/ms.exec(text)?.[1];
    if (language === "yaml" && name !== undefined) writeFileSync(join(page, `${name}.yaml`), text);
  }
  return page;
}
