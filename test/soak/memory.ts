import { lowsOf, type Point, slopeOf } from "../support/slope.ts";
import { sumOf } from "../support/controller-vitals.ts";

/** Memory and errors of a controller, from /metrics. */
export interface Sample {
  /** Minutes since the soak began. */
  readonly at: number;
  readonly residentMB: number;
  readonly heapMB: number;
  /** Buffers outside of the heap that live objects reference. */
  readonly externalMB: number;
  readonly bugs: number;
  readonly reconciles: number;
  readonly cpuSeconds: number;
}

/** Memory after the warm-up; slopes in MB per minute. */
export interface MemoryReport {
  readonly warmUpMinutes: number;
  readonly residentAfterWarmUp: number;
  readonly residentAtEnd: number;
  readonly residentSlope: number;
  /** Slope of the minimum of each minute, which is about the size of the live objects. */
  readonly heapSlope: number;
}

/** Samples a controller's memory. */
export class MemoryWatch {
  readonly samples: Sample[] = [];
  readonly #url: string;
  readonly #began = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor(url: string, everyMs: number) {
    this.#url = url;
    this.#timer = setInterval(() => void this.sample(), everyMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  get latest(): Sample | undefined {
    return this.samples.at(-1);
  }

  /**
   * Takes another sample; if the controller does not respond, every value is NaN, and the sample is
   * not recorded.
   */
  async sample(): Promise<Sample> {
    const at = (performance.now() - this.#began) / 60_000;
    const text = await fetch(`${this.#url}/metrics`).then(
      (answer) => answer.text(),
      () => undefined,
    );
    const sample = sampleOf(at, text);
    if (text !== undefined) this.samples.push(sample);
    return sample;
  }

  /**
   * Reports the time after the warm-up; the two resident sizes are means of ten samples, because
   * the garbage collector makes them vary.
   */
  report(warmUpMinutes: number): MemoryReport {
    const after = this.samples.filter(({ at }) => at >= warmUpMinutes);
    const resident = after.map(({ at, residentMB }): Point => ({ at, value: residentMB }));
    const heap = after.map(({ at, heapMB }): Point => ({ at, value: heapMB }));
    return {
      warmUpMinutes,
      residentAfterWarmUp: meanOf(resident.slice(0, 10)),
      residentAtEnd: meanOf(resident.slice(-10)),
      residentSlope: slopeOf(resident),
      heapSlope: slopeOf(lowsOf(heap, 1)),
    };
  }
}

function meanOf(points: readonly Point[]): number {
  return points.reduce((sum, { value }) => sum + value, 0) / points.length;
}

function sampleOf(at: number, text: string | undefined): Sample {
  const sum = (name: string): number => (text === undefined ? Number.NaN : sumOf(text, name));
  return {
    at,
    residentMB: sum("process_resident_memory_bytes") / 1e6,
    heapMB: sum("nodejs_heap_size_used_bytes") / 1e6,
    externalMB: sum("nodejs_external_memory_bytes") / 1e6,
    bugs: sum("latchkey_reconcile_unexpected_errors_total"),
    reconciles: sum("controller_runtime_reconcile_total"),
    cpuSeconds: sum("process_cpu_seconds_total"),
  };
}
