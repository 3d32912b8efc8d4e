// A browser starts no worker from a page of a folder (file:), so the search of such a page runs in a hidden frame.
// Material's search asks for `IFrameWorker`, the name of the package that this file replaces.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.appendChild(frame);
    this.inner = frame.contentWindow;
    this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    this.inner.importScripts = (...urls) => Promise.all(urls.map((one) => this.load(one)));
    this.ready = this.load(url);
  }

  load(url) {
    return new Promise((resolve, reject) => {
      const script = this.inner.document.createElement("script");
      script.src = new URL(url, document.baseURI).href;
      script.onload = resolve;
      script.onerror = reject;
      this.inner.document.body.appendChild(script);
    });
  }

  postMessage(data) {
    this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.inner.frameElement.remove();
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
