import { once } from "node:events";
import { Worker } from "node:worker_threads";

/**
 * Has three threads make the same folders at once by a function of a built module: 200 trees below a folder.
 *
 * @param module - Below `dist`.
 * @returns How each thread ended; 0 = well.
 */
export function makeAtOnce(module: string, name: string, folder: string): Promise<number[]> {
  const source = new URL(`../../dist/${module}`, import.meta.url).href;
  const work = `
    const { workerData } = require("node:worker_threads");
    import(${JSON.stringify(source)}).then((built) => {
      for (let tree = 0; tree < 200; tree += 1) built[${JSON.stringify(name)}](workerData + "/" + tree + "/a/b");
    });
  `;
  const makers = Array.from({ length: 3 }, () => new Worker(work, { eval: true, workerData: folder }));
  return Promise.all(makers.map(async (maker) => ((await once(maker, "exit")) as [number])[0]));
}
