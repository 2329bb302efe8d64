module go-proxy

go 1.26.0
