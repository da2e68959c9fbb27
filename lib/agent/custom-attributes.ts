import { lstatSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "../logger.ts";
import type { Attributes } from "../wire/messages.ts";

/** Bytes of one file, and attributes of all files together. */
const maxFileBytes = 64 * 1024;
const maxAttributes = 200;
const maxDepth = 8;
const keyPattern = /^[a-z][A-Za-z0-9_.-]{0,99}$/;

/**
 * Reads what the machine's owner adds: each `*.json` of a folder holds an object; nested objects give dotted keys, and
 * every key gets the prefix `custom.`. A later file wins. What can't be used is left out and logged.
 */
export function readCustomAttributes(folder: string, logger: Logger): Attributes {
  const attributes: Attributes = {};
  for (const name of jsonFiles(folder)) {
    const path = join(folder, name);
    try {
      const stat = lstatSync(path);
      if (!stat.isFile() || stat.size > maxFileBytes)
        throw new Error(`It is no file of at most ${maxFileBytes} bytes.`);
      const value: unknown = JSON.parse(readFileSync(path, "utf8"));
      if (!isObject(value)) throw new Error("It holds no object.");
      flatten("custom", value, (key, entry) => {
        if (Object.keys(attributes).length < maxAttributes) attributes[key] = entry;
      });
    } catch (error) {
      logger.warn("A file of attributes was left out.", { path, error });
    }
  }
  return attributes;
}

function jsonFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".json"))
      .sort();
  } catch {
    return [];
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
    } else if (typeof entry === "number" || typeof entry === "boolean") {
      take(key, entry);
    }
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
