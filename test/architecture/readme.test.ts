import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { readText } from "./source-tree.ts";

const example = /^```ts\n(.*?)^```$/ms.exec(readText("README.md") ?? "")?.[1] ?? "";

describe("the example of the readme", () => {
  it("runs as it stands there and prints the module that it uploaded", async () => {
    const folder = temporaryFolder();
    const before = process.cwd();
    process.chdir(folder);
    onTestFinished(() => process.chdir(before));
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());

    writeFileSync(join(folder, "example.ts"), example);
    await import(/* @vite-ignore */ pathToFileURL(join(folder, "example.ts")).href);

    expect(log).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ items: [expect.objectContaining({ name: "motd", revision: 1 })] }),
    );
    expect(existsSync(join(folder, "data"))).toBe(true);
  });
});
