import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { expect, it } from "vitest";

const source = (path: string): string =>
  fileURLToPath(new URL(`../../../adapters/client/${path}`, import.meta.url));

it("the client and the signer are small, need no built-in of Node, and leave tweetnacl for later", async () => {
  const output = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      minify: true,
      lib: { entry: [source("index.ts"), source("browser-signer.ts")], formats: ["es"] },
    },
  });
  const chunks = [output].flat().flatMap((each) => ("output" in each ? each.output : []));
  const code = chunks.flatMap((chunk) => (chunk.type === "chunk" ? [chunk] : []));
  const sizes = new Map(code.map((chunk) => [chunk.fileName, gzipSync(chunk.code).length]));
  const isLater = (name: string): boolean => name.includes("nacl");
  const atOnce = [...sizes].filter(([name]) => !isLater(name)).reduce((sum, [, size]) => sum + size, 0);
  console.info(
    `the client for browsers: ${atOnce} bytes gzipped (${[...sizes].map((each) => each.join(" ")).join(", ")})`,
  );
  expect(atOnce).toBeLessThan(20_000);
  expect([...sizes.keys()].some(isLater)).toBe(true);
  expect(
    code
      .filter(({ fileName }) => !isLater(fileName))
      .map((chunk) => chunk.code)
      .join(""),
  ).not.toMatch(/node:|require\(/);
}, 60_000);
