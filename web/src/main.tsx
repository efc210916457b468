import { render } from "preact";
import { meet } from "./api/credentials";
import { App } from "./app";
import "./style/index.css";

const root = document.getElementById("page");
if (root) void meet().finally(() => render(<App />, root));
