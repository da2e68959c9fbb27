const slash = 0x2f;

/** Whether a path is a folder's and one more name, which may be empty. What `lastIndexOf` would tell too takes V8 five times as long. */
export function isBeside(path: string, folder: string): boolean {
  const at = folder.length;
  return path.charCodeAt(at) === slash && path.startsWith(folder) && !path.includes("/", at + 1);
}
