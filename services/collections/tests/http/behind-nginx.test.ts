import { describeService } from "./fixtures/proxy-promises.ts";
import { NGINX } from "./fixtures/real-proxies.ts";

describeService(NGINX);
