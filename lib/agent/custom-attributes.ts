import { join } from "node:path";
import type { Host } from "../host/host.ts";
import type { Logger } from "../logger.ts";
import type { Attributes } from "../wire/messages.ts";
import { OwnersFolder, type OwnersEntry } from "./owners-folder.ts";

/** Attributes of all files and programs together. */
const maxAttributes = 200;
const maxDepth = 8;
const keyPattern = /^[a-z][A-Za-z0-9_.-]{0,99}$/;

/**
 * What the machine's owner adds: `attributes.d`, with `*.json` files and programs that print the same. Each holds an object; nested
 * objects give dotted keys, and every key gets the prefix `custom.`. A later one wins, by name. What can't be used is left out and logged.
 */
export class CustomAttributes {
  readonly #folder: OwnersFolder;

  constructor({ stateDir, ...options }: { stateDir: string; host: Host; logger: Logger }) {
    this.#folder = new OwnersFolder({ ...options, folder: join(stateDir, "attributes.d"), suffix: ".json" });
  }

  /** What is there now. */
  list(): OwnersEntry[] {
    return this.#folder.list();
  }

  /** What programs print now, by their paths; those that print nothing in time are left out. */
  async run(entries: readonly OwnersEntry[]): Promise<Map<string, string>> {
    const printed = new Map<string, string>();
    await Promise.all(
      entries.map(async (entry) => {
        const text = await this.#folder.run(entry);
        if (text !== null) printed.set(entry.path, text);
      }),
    );
    return printed;
  }

  /**
   * The attributes of files as they stand there, and of programs by what they printed.
   *
   * @param printed - By path.
   */
  read(entries: readonly OwnersEntry[], printed: ReadonlyMap<string, string> = new Map()): Attributes {
    const attributes: Attributes = {};
    for (const entry of entries) {
      const text = entry.isProgram ? (printed.get(entry.path) ?? null) : this.#folder.read(entry);
      const value = text === null ? null : parseObject(text);
      if (value === null) {
        if (text !== null) this.#folder.fault(entry.path, "It holds no object of JSON.");
        continue;
      }
      this.#addTo(attributes, entry, value);
    }
    return attributes;
  }

  /** Adds what can be taken of one entry; one that is there already is never one too many. */
  #addTo(attributes: Attributes, { path }: OwnersEntry, value: object): void {
    let count = Object.keys(attributes).length;
    let faults = 0;
    for (const [key, each] of flatten("custom", value)) {
      const isNew = !Object.hasOwn(attributes, key);
      if (each === null || (isNew && count >= maxAttributes)) {
        faults += 1;
        continue;
      }
      if (isNew) count += 1;
      attributes[key] = each;
    }
    if (faults > 0) this.#folder.fault(path, `${faults} of its values can't be taken.`);
    else this.#folder.used(path);
  }

  /** Ends the programs that run. */
  stop(): void {
    this.#folder.stop();
  }
}

function parseObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The values by their dotted names; null where one can't be taken. */
function* flatten(prefix: string, value: object): Generator<[key: string, value: Attributes[string] | null]> {
  for (const [name, entry] of Object.entries(value) as [string, unknown][]) {
    const key = `${prefix}.${name}`;
    const isFit = keyPattern.test(key);
    if (isObject(entry) && isFit && key.split(".").length <= maxDepth) yield* flatten(key, entry);
    else yield [key, isFit && isScalar(entry) ? entry : null];
  }
}

/** A number too large for one is infinite, which no message can carry. */
function isScalar(value: unknown): value is Attributes[string] {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
