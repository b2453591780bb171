import { byId } from "@collections/web-pages/browser";
import { signedHeaders } from "./sign-request.ts";

/** A request that Swagger UI sends, such as the one that loads the OpenAPI document (`loadSpec`). */
interface SwaggerRequest {
  url: string;
  method: string;
  body?: unknown;
  headers: Record<string, string>;
  loadSpec?: boolean;
}

interface SwaggerUi {
  (options: object): void;
  readonly presets: { readonly apis: unknown };
}

const reference = byId("reference", HTMLElement);
const keyId = byId("key-id", HTMLInputElement);
const secret = byId("secret", HTMLInputElement);

byId("key", HTMLFormElement).addEventListener("submit", (event) => event.preventDefault());
followColors(matchMedia("(prefers-color-scheme: dark)"));
show(await library());

function show(swaggerUi: SwaggerUi): void {
  swaggerUi({
    domNode: reference,
    url: reference.dataset["document"],
    presets: [swaggerUi.presets.apis],
    plugins: [ourLayout],
    layout: "ReferenceLayout",
    deepLinking: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    supportedSubmitMethods: ["get", "post"],
    // Without this setting, Swagger UI would send the document to a validator on the internet.
    validatorUrl: null,
    requestInterceptor: signed,
  });
}

/** The object that Swagger UI passes to plugins and layout components, with only the members that this page uses. */
interface System {
  readonly React: { createElement(type: unknown, props?: object | null, ...children: unknown[]): object };
  readonly specSelectors: { loadingStatus(): string | undefined };
  getComponent(name: string, container?: true): unknown;
}

/**
 * Returns a plugin whose layout shows only the operations, the webhooks and the schemas. The page has its own title.
 * There is no button to authorize, because each request is signed.
 */
function ourLayout({ React }: System): object {
  function ReferenceLayout({ getComponent, specSelectors }: System): object {
    const show = (name: string) => React.createElement(getComponent(name, true), { key: name });
    const isLoaded = specSelectors.loadingStatus() === "success";
    const shown = isLoaded ? ["errors", "operations", "Webhooks", "Models"] : ["errors"];
    const icons = React.createElement(getComponent("SvgAssets"));
    return React.createElement("div", { className: "swagger-ui" }, icons, shown.map(show));
  }
  const nothing = () => () => null;
  return { components: { ReferenceLayout }, wrapComponents: { authorizeOperationBtn: nothing } };
}

/**
 * Signs a request with the API key that the user has entered. Without an API key the request is sent unsigned, and the
 * service's answer says what is missing.
 */
function signed(request: SwaggerRequest): SwaggerRequest {
  if (request.loadSpec) return request;
  const key = { keyId: keyId.value.trim(), secret: secret.value };
  if (key.keyId === "" || key.secret === "") return request;
  const body = typeof request.body === "string" ? request.body : undefined;
  const url = new URL(request.url, location.href).href;
  const headers = signedHeaders({ method: request.method, url, body }, key, Date.now());
  request.headers = { ...request.headers, ...headers };
  return request;
}

/** Loads Swagger UI, which is not a module but defines a global variable. */
async function library(): Promise<SwaggerUi> {
  const script = document.createElement("script");
  script.src = reference.dataset["library"]!;
  await new Promise((resolve, reject) => {
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
    document.head.append(script);
  });
  return (window as unknown as { SwaggerUIBundle: SwaggerUi }).SwaggerUIBundle;
}

function followColors(dark: MediaQueryList): void {
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", follow);
  follow();
}
