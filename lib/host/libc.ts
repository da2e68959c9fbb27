export { libc, type Libc } from "../native/libc.ts";
