import otel_gate, os, shutil, sys, time, multiprocessing as mp
from opentelemetry import trace
shutil.rmtree("st_fork",ignore_errors=True)
g=otel_gate.install(store="st_fork"); t=trace.get_tracer("a")
def child(n):
    with otel_gate.tool_span(f"child{n}",{"n":n}): time.sleep(0.05)
if __name__=="__main__":
    mode=sys.argv[1]
    with t.start_as_current_span("run"):
        with otel_gate.tool_span("pre",{}): pass
        if mode=="fork":
            p=os.fork()
            if p==0:
                child(1); sys.exit(0)
            os.waitpid(p,0)
        elif mode=="fork_exit":
            p=os.fork()
            if p==0:
                child(1); g.flush(5); os._exit(0)
            os.waitpid(p,0)
        elif mode=="mp":
            ps=[mp.Process(target=child,args=(i,)) for i in range(3)]
            [p.start() for p in ps]; [p.join() for p in ps]
        elif mode=="pool":
            with mp.Pool(2) as po: po.map(child,range(4))
    x=time.time(); print("flush",g.flush(5),round(time.time()-x,2)); 
    if mode!="x": time.sleep(0.2)
