// A page that is opened from a file may not start a worker, and the search of the site is one. Then the script of the worker
// runs in a hidden frame. On a server nothing is changed.
(() => {
  if (location.protocol !== "file:") return;
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.onmessage = this.onmessageerror = this.onerror = null;
      this.early = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.inside = this.frame.contentWindow;
      this.inside.postMessage = (data) => setTimeout(() => this.answer(structuredClone(data)));
      const script = this.inside.document.createElement("script");
      script.onload = () => {
        const early = this.early;
        this.early = null;
        early.forEach((data) => this.postMessage(data));
      };
      script.onerror = (event) => this.onerror && this.onerror(event);
      script.src = new URL(address, location.href).href;
      this.inside.document.body.append(script);
    }
    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    postMessage(data) {
      if (this.early) this.early.push(data);
      else {
        const copy = structuredClone(data); // a worker never sees the objects of the page
        setTimeout(() => this.inside.dispatchEvent(new MessageEvent("message", { data: copy })));
      }
    }
    terminate() {
      this.frame.remove();
    }
  };
})();
