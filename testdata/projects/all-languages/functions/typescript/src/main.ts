import { compose } from "./compose.js";

console.log(JSON.stringify(compose({ fifo: process.argv.includes("--fifo") })));
