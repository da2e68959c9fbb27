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
      this.#folder.used(entry.path);
      flatten("custom", value, (key, each) => {
        if (Object.keys(attributes).length < maxAttributes) attributes[key] = each;
      });
    }
    return attributes;
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

function flatten(
  prefix: string,
  value: object,
  take: (key: string, value: string | number | boolean) => void,
): void {
  for (const [name, entry] of Object.entries(value)) {
    const key = `${prefix}.${name}`;
    if (!keyPattern.test(key)) continue;
    if (isObject(entry)) {
      if (key.split(".").length <= maxDepth) flatten(key, entry, take);
    } else if (typeof entry === "string") {
      take(key, entry);
    } else if (typeof entry === "boolean" || Number.isFinite(entry)) {
      // A number too large for one is infinite, which no message can carry.
      take(key, entry as number | boolean);
    }
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
