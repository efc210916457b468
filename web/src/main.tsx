import { render } from "preact";
import { meet } from "./api/credentials";
import { App } from "./app";
import { listen } from "./ui/copying";
import "./style/index.css";

const root = document.getElementById("page");
listen();
if (root) void meet().finally(() => render(<App />, root));
